#include "engine/auth/azure.h"

#include <fmt/format.h>

#include "engine/auth/anonymous.h"
#include "engine/auth/azure_connection_string.h"
#include "engine/auth/azure_sas.h"
#include "engine/auth/azure_shared_key.h"

namespace stage_model::auth {
namespace {

Result<IdentityPtr> from_sas(std::string_view text) {
  Result<Sas> sas = parse_sas(text);
  if (!sas) return tl::unexpected(sas.error());
  return azure_sas(std::move(*sas));
}

// A key's base64 often comes out of a file with its newline.
std::string_view without_newline(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace

Result<IdentityPtr> choose_azure(const std::string& account, std::string_view url_sas,
                                 const std::map<std::string, std::string>& variables) {
  const auto variable = [&variables](const char* name) -> std::string_view {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string_view() : std::string_view(found->second);
  };
  std::string passed_over;
  const auto pass_over = [&passed_over](const std::string& why) {
    passed_over += (passed_over.empty() ? "" : "; ") + why;
  };

  if (!url_sas.empty()) return from_sas(url_sas);

  if (const auto text = variable("AZURE_STORAGE_CONNECTION_STRING"); !text.empty()) {
    Result<ConnectionString> parts = parse_connection_string(text);
    if (!parts) return tl::unexpected(parts.error());
    if (!parts->account.empty() && parts->account != account) {
      pass_over(fmt::format("AZURE_STORAGE_CONNECTION_STRING is for account {}", parts->account));
    } else if (!parts->key.empty()) {
      return azure_shared_key(account, parts->key);
    } else if (!parts->sas.empty()) {
      return from_sas(parts->sas);
    } else {
      pass_over("AZURE_STORAGE_CONNECTION_STRING holds no key and no signature");
    }
  }

  if (const auto text = variable("AZURE_STORAGE_SAS_TOKEN"); !text.empty()) return from_sas(text);

  if (const auto key = without_newline(variable("AZURE_STORAGE_KEY")); !key.empty()) {
    const auto owner = variable("AZURE_STORAGE_ACCOUNT");
    if (owner.empty() || owner == account) return azure_shared_key(account, key);
    pass_over(fmt::format("AZURE_STORAGE_KEY is for account {}", owner));
  }
  return std::make_shared<Anonymous>(passed_over);
}

}  // namespace stage_model::auth
