#include "engine/auth/azure_connection_string.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/auth/pasted.h"
#include "engine/auth/url.h"

namespace stage_model::auth {
namespace {

// Published by Microsoft for its emulator; the same everywhere.
constexpr char kEmulatorAccount[] = "devstoreaccount1";
constexpr char kEmulatorKey[] =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
constexpr std::string_view kSecondary = "-secondary";  // the read-only copy, of the same account
constexpr char kEmulatorEndpoint[] = "http://127.0.0.1:10000/devstoreaccount1";

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

// The portal's strings with a SAS have no AccountName: whose they are stands in the endpoint alone.
// "" where a name of the site's own hides it.
std::string account_of(const std::string& endpoint) {
  const Result<Url> url = parse_url(endpoint);
  if (!url) return {};
  const std::size_t dot = url->host.find('.');
  if (dot != std::string::npos && url->host.find(".blob.", dot) != std::string::npos) {
    std::string account = url->host.substr(0, dot);
    if (account.ends_with(kSecondary)) account.resize(account.size() - kSecondary.size());
    return account;
  }
  // Emulators have it in the path.
  return url->path.substr(std::min(url->path.size(), std::size_t{1}));
}

}  // namespace

Result<ConnectionString> parse_connection_string(std::string_view text) {
  std::map<std::string, std::string> parts;
  text = pasted(text);
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::string_view part = pasted(item);
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');  // values hold '=' too
    if (equals == std::string_view::npos || equals == 0) {
      return fail(ExitCode::kSource,
                  "AZURE_STORAGE_CONNECTION_STRING: a part is not NAME=VALUE: copy the whole "
                  "string, quoted");
    }
    const std::string name = lowered(pasted(part.substr(0, equals)));
    if (!parts.emplace(name, pasted(part.substr(equals + 1))).second) {
      return fail(ExitCode::kSource, "AZURE_STORAGE_CONNECTION_STRING: a name is given twice");
    }
  }
  const auto take = [&parts](const char* name) {
    const auto found = parts.find(name);
    return found == parts.end() ? std::string() : found->second;
  };

  ConnectionString out;
  if (lowered(take("usedevelopmentstorage")) == "true") {
    out.account = kEmulatorAccount;
    out.key = kEmulatorKey;
    out.endpoint = kEmulatorEndpoint;
    return out;
  }
  out.account = take("accountname");
  out.key = take("accountkey");
  out.sas = take("sharedaccesssignature");
  if (out.sas.starts_with('?')) out.sas.erase(0, 1);
  out.endpoint = take("blobendpoint");
  if (out.endpoint.empty() && !out.account.empty()) {
    const std::string protocol = take("defaultendpointsprotocol");
    const std::string suffix = take("endpointsuffix");
    out.endpoint = fmt::format("{}://{}.blob.{}", protocol.empty() ? "https" : protocol,
                               out.account, suffix.empty() ? "core.windows.net" : suffix);
  }
  while (out.endpoint.ends_with('/')) out.endpoint.pop_back();
  if (out.endpoint.empty()) {
    return fail(ExitCode::kSource,
                "AZURE_STORAGE_CONNECTION_STRING has neither AccountName nor BlobEndpoint");
  }
  if (!out.key.empty() && out.account.empty()) {
    return fail(ExitCode::kSource,
                "AZURE_STORAGE_CONNECTION_STRING has an AccountKey without AccountName");
  }
  if (out.account.empty()) out.account = account_of(out.endpoint);
  return out;
}

}  // namespace stage_model::auth
