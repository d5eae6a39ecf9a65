#include "engine/auth/azure.h"

#include <fmt/format.h>

#include "engine/auth/anonymous.h"
#include "engine/auth/azure_key_or_token.h"
#include "engine/auth/azure_sas.h"
#include "engine/auth/azure_shared_key.h"
#include "engine/base/text.h"
#include "engine/base/variables.h"
#include "engine/contract/azure_secret.h"

namespace stage_model::auth {
namespace {

Result<IdentityPtr> from_sas(std::string_view text) {
  Result<Sas> sas = parse_sas(text);
  if (!sas) return tl::unexpected(sas.error());
  return azure_sas(std::move(*sas));
}

}  // namespace

Result<IdentityPtr> choose_azure(const std::string& account, std::string_view url_sas,
                                 const Variables& variables, const AzureSurroundings& surroundings,
                                 std::vector<std::string>* passed_over) {
  const auto variable = [&variables](const char* name) -> std::string_view {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string_view() : std::string_view(found->second);
  };
  std::vector<std::string> unset;   // plain absence: of interest to --whoami alone
  std::vector<std::string> unused;  // there, but not for us
  const auto done = [&](Result<IdentityPtr> identity) {
    if (passed_over != nullptr) {
      *passed_over = unset;
      passed_over->insert(passed_over->end(), unused.begin(), unused.end());
    }
    return identity;
  };

  // Where the account accepts no keys, a token serves, if one is to be had.
  const auto key_or_token = [&](std::string_view key) -> Result<IdentityPtr> {
    Result<IdentityPtr> by_key = azure_shared_key(account, key);
    if (!by_key || !surroundings.exchange) return by_key;
    Result<IdentityPtr> login = azure_login(variables, surroundings, unused, false);
    return azure_key_or_token(*by_key, std::move(login));
  };

  // As for az: then keys and signatures do not count, whatever else is set.
  const bool login_only = variable("AZURE_STORAGE_AUTH_MODE") == "login";
  const auto secret = [&](const char* name) {
    return login_only ? std::string_view() : pasted(variable(name));
  };
  const auto absent = [&](const char* what, const char* name) {
    unset.push_back(login_only ? fmt::format("{}: AZURE_STORAGE_AUTH_MODE is login", what)
                               : fmt::format("{}: {} is not set", what, name));
  };

  if (!url_sas.empty()) return done(from_sas(url_sas));
  unset.emplace_back("SAS in the URL: there is none");
  // A public container of another tenant refuses the token that every machine in Azure has.
  if (const auto anonymous = variable("AZURE_STORAGE_ANON");
      anonymous == "true" || anonymous == "1") {
    return done(std::make_shared<Anonymous>("AZURE_STORAGE_ANON is set"));
  }

  if (const auto text = secret("AZURE_STORAGE_CONNECTION_STRING"); !text.empty()) {
    Result<ConnectionString> parts = parse_connection_string(text);
    if (!parts) return tl::unexpected(parts.error());
    if (!parts->account.empty() && parts->account != account) {
      unused.push_back(
          fmt::format("AZURE_STORAGE_CONNECTION_STRING is for account {}", parts->account));
    } else if (!parts->key.empty()) {
      return done(key_or_token(parts->key));
    } else if (!parts->sas.empty()) {
      return done(from_sas(parts->sas));
    } else {
      unused.emplace_back("AZURE_STORAGE_CONNECTION_STRING holds no key and no signature");
    }
  } else {
    absent("connection string", "AZURE_STORAGE_CONNECTION_STRING");
  }

  // Another account's would be shown to this one, and look like a wrong one here.
  const auto owner = variable("AZURE_STORAGE_ACCOUNT");
  const bool ours = owner.empty() || owner == account;
  if (const auto text = secret("AZURE_STORAGE_SAS_TOKEN"); !text.empty()) {
    if (ours) return done(from_sas(text));
    unused.push_back(fmt::format("AZURE_STORAGE_SAS_TOKEN is for account {}", owner));
  } else {
    absent("SAS", "AZURE_STORAGE_SAS_TOKEN");
  }

  if (const auto key = secret("AZURE_STORAGE_KEY"); !key.empty()) {
    if (ours) return done(key_or_token(key));
    unused.push_back(fmt::format("AZURE_STORAGE_KEY is for account {}", owner));
  } else {
    absent("shared key", "AZURE_STORAGE_KEY");
  }
  if (surroundings.exchange) return done(azure_login(variables, surroundings, unused));
  std::string why;
  for (const std::string& reason : unused) why += (why.empty() ? "" : "; ") + reason;
  return done(std::make_shared<Anonymous>(why));
}

}  // namespace stage_model::auth
