#include "engine/contract/azure_secret.h"

#include <algorithm>
#include <map>

#include "engine/base/text.h"
#include "engine/contract/iso_time.h"

namespace stage_model {
namespace {

// Published by Microsoft for its emulator; the same everywhere.
constexpr char kEmulatorAccount[] = "devstoreaccount1";
constexpr char kEmulatorKey[] =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
constexpr std::string_view kSecondary = "-secondary";  // the read-only copy, of the same account
constexpr char kEmulatorEndpoint[] = "http://127.0.0.1:10000/devstoreaccount1";

// The first parameter of that name in a query; "" if there is none.
std::string parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view item = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), item.size() + 1));
    const std::size_t equals = std::min(item.find('='), item.size());
    if (unescaped(item.substr(0, equals)) == name) {
      return unescaped(item.substr(std::min(item.size(), equals + 1)));
    }
  }
  return {};
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
    out.endpoint = (protocol.empty() ? "https" : protocol) + "://" + out.account + ".blob." +
                   (suffix.empty() ? "core.windows.net" : suffix);
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
  if (out.account.empty()) out.account = account_of_endpoint(out.endpoint);
  return out;
}

// The portal's strings with a SAS have no AccountName: whose they are stands in the endpoint alone.
std::string account_of_endpoint(std::string_view url) {
  const std::size_t at = url.find("://");
  if (at == std::string_view::npos) return {};
  url.remove_prefix(at + 3);
  url = url.substr(0, url.find_first_of("?#"));
  const std::string_view authority = url.substr(0, url.find('/'));
  const std::string host = lowered(authority.substr(0, authority.rfind(':')));
  const std::size_t dot = host.find('.');
  if (dot != std::string::npos && host.find(".blob.", dot) != std::string::npos) {
    std::string account = host.substr(0, dot);
    if (account.ends_with(kSecondary)) account.resize(account.size() - kSecondary.size());
    return account;
  }
  // Emulators have it in the path.
  const std::string_view path = url.substr(std::min(url.size(), authority.size() + 1));
  return std::string(path.substr(0, path.find('/')));
}

Result<SasTimes> sas_times(std::string_view token) {
  token = pasted(token);
  token.remove_prefix(token.starts_with('?') ? 1 : 0);
  SasTimes times;
  // One by a user's delegation key ends with that key, at the latest after a week.
  std::optional<std::time_t> key_expires;
  for (const auto& [name, out] : {std::pair("se", &times.expires), std::pair("st", &times.starts),
                                  std::pair("ske", &key_expires)}) {
    const std::string text = parameter(token, name);
    if (text.empty()) continue;
    *out = parse_iso_time(text);
    if (!*out) {
      return fail(ExitCode::kSource, std::string("the SAS has an unreadable time in '") + name +
                                         "=': copy the token again");
    }
  }
  if (key_expires && (!times.expires || *key_expires < *times.expires)) times.expires = key_expires;
  return times;
}

}  // namespace stage_model
