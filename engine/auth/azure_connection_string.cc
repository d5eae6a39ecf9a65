#include "engine/auth/azure_connection_string.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace stage_model::auth {
namespace {

// Published by Microsoft for its emulator; the same everywhere.
constexpr char kEmulatorAccount[] = "devstoreaccount1";
constexpr char kEmulatorKey[] =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
constexpr char kEmulatorEndpoint[] = "http://127.0.0.1:10000/devstoreaccount1";

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace

Result<ConnectionString> parse_connection_string(std::string_view text) {
  std::map<std::string, std::string> parts;
  text = trimmed(text);
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::string_view part = trimmed(item);
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');  // values hold '=' too
    if (equals == std::string_view::npos || equals == 0) {
      return fail(ExitCode::kSource,
                  "AZURE_STORAGE_CONNECTION_STRING: a part is not NAME=VALUE: copy the whole "
                  "string, quoted");
    }
    const std::string name = lowered(part.substr(0, equals));
    if (!parts.emplace(name, part.substr(equals + 1)).second) {
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
  return out;
}

}  // namespace stage_model::auth
