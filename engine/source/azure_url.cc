#include "engine/source/azure_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "engine/auth/azure_sas.h"
#include "engine/base/variables.h"
#include "engine/contract/azure_secret.h"
#include "engine/http/url.h"
#include "engine/source/show.h"

namespace stage_model::source {
namespace {

constexpr char kPublicSuffix[] = "blob.core.windows.net";

struct Endpoint {
  std::string origin, base;
};

bool is_address_or_local(const std::string& host) {
  return host == "localhost" || host.front() == '[' ||
         host.find_first_not_of("0123456789.") == std::string::npos;
}

// "acct.blob.core.windows.net", also with z12, privatelink or a sovereign cloud's domain: the
// account, else nothing. `.dfs.` becomes `.blob.`: only the blob endpoint is needed.
std::optional<std::string> account_of_host(std::string& host) {
  const std::size_t dot = host.find('.');
  if (dot == std::string::npos || dot == 0) return std::nullopt;
  if (const auto dfs = host.find(".dfs."); dfs != std::string::npos) {
    host.replace(dfs, 5, ".blob.");
  }
  if (host.find(".blob.", dot) == std::string::npos) return std::nullopt;
  std::string account = host.substr(0, dot);
  // The read-only second copy signs with the account's own name.
  if (account.ends_with("-secondary")) account.resize(account.size() - 10);
  return account;
}

// An endpoint from a variable, for `account`.
Result<Endpoint> parse_endpoint(const std::string& text, const std::string& account,
                                const char* name) {
  Result<http::Url> url = http::parse_url(text);
  if (!url) {
    return fail(ExitCode::kSource, fmt::format("{}: {}", name, url.error().message));
  }
  std::string base = url->path;
  while (base.ends_with('/')) base.pop_back();
  std::string host = url->host;
  const auto host_account = account_of_host(host);
  // Emulators have the account as the first part of the path; a bare host and port means them too.
  if (base.empty() && !host_account && (is_address_or_local(host) || !url->port.empty())) {
    base = "/" + account;
  }
  const std::string owner = host_account ? *host_account : base.substr(base.empty() ? 0 : 1);
  if (!owner.empty() && owner != account) {
    return fail(ExitCode::kSource,
                fmt::format("the URL is for account '{}', but {} is for '{}': correct one of them",
                            show(account), name, show(owner)));
  }
  return Endpoint{url->origin(), base};
}

Result<Endpoint> endpoint_for(const std::string& account, const Variables& variables) {
  constexpr char kEndpoint[] = "AZURE_STORAGE_BLOB_ENDPOINT";
  constexpr char kConnection[] = "AZURE_STORAGE_CONNECTION_STRING";
  if (const auto text = variable(variables, kEndpoint); !text.empty()) {
    return parse_endpoint(text, account, kEndpoint);
  }
  if (const auto text = variable(variables, kConnection); !text.empty()) {
    Result<ConnectionString> parts = parse_connection_string(text);
    if (!parts) return tl::unexpected(parts.error());
    if (parts->account == account || parts->account.empty()) {
      return parse_endpoint(parts->endpoint, account, kConnection);
    }
  }
  return Endpoint{fmt::format("https://{}.{}", account, kPublicSuffix), ""};
}

// What a variable names as the endpoint of the user's account; an error if none does.
Result<http::Url> named_endpoint(const Variables& variables) {
  std::string named = variable(variables, "AZURE_STORAGE_BLOB_ENDPOINT");
  if (named.empty()) {
    const auto connection =
        parse_connection_string(variable(variables, "AZURE_STORAGE_CONNECTION_STRING"));
    if (connection) named = connection->endpoint;
  }
  return http::parse_url(named);
}

// Takes the part up to the next slash.
std::string take_segment(std::string_view& rest) {
  std::string segment(rest.substr(0, rest.find('/')));
  rest.remove_prefix(std::min(rest.size(), segment.size() + 1));
  return segment;
}

Status check_names(const AzureUrl& url) {
  const auto account_byte = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (url.account.empty() || url.account.size() > 63 ||
      !std::all_of(url.account.begin(), url.account.end(), account_byte)) {
    return fail(ExitCode::kUsage,
                fmt::format("'{}' is not the name of a storage account (lower-case letters and "
                            "digits): az://ACCOUNT/CONTAINER/PREFIX/",
                            show(url.account)));
  }
  const bool special = url.container == "$root" || url.container == "$web";
  const auto container_byte = [&](char c) { return account_byte(c) || c == '-'; };
  if (!special && (url.container.size() < 3 || url.container.size() > 63 ||
                   !std::all_of(url.container.begin(), url.container.end(), container_byte))) {
    return fail(ExitCode::kUsage,
                url.container.empty()
                    ? "no container in the URL: az://ACCOUNT/CONTAINER/PREFIX/"
                    : fmt::format("'{}' is not the name of a container (3 to 63 lower-case "
                                  "letters, digits and dashes): az://ACCOUNT/CONTAINER/PREFIX/",
                                  show(url.container)));
  }
  return {};
}

Result<AzureUrl> parse_az(std::string_view text, const Variables& variables) {
  text.remove_prefix(5);
  AzureUrl url;
  // A '?' is an ordinary byte of a name, unless a signature follows.
  if (const auto mark = text.rfind('?'); mark != std::string_view::npos) {
    const std::string_view query = text.substr(mark + 1);
    if (query.starts_with("sig=") || query.find("&sig=") != std::string_view::npos) {
      url.sas = std::string(query);
      text = text.substr(0, mark);
    }
  }
  url.account = take_segment(text);
  if (url.account.find('.') != std::string::npos) {
    return fail(ExitCode::kUsage,
                fmt::format("az:// takes the account's name alone: az://{}/… (or https:// and the "
                            "whole host name)",
                            show(url.account.substr(0, url.account.find('.')))));
  }
  url.container = take_segment(text);
  url.path = std::string(text);
  if (Status status = check_names(url); !status) return tl::unexpected(status.error());
  Result<Endpoint> endpoint = endpoint_for(url.account, variables);
  if (!endpoint) return tl::unexpected(endpoint.error());
  url.origin = endpoint->origin;
  url.base = endpoint->base;
  return url;
}

Status take_query(const std::string& text, AzureUrl& url) {
  if (text.empty()) return {};
  Result<http::Query> query = http::parse_query(text);
  if (!query) return tl::unexpected(query.error());
  for (const auto& [name, value] : *query) {
    if (auth::is_sas_parameter(name)) continue;
    return fail(ExitCode::kUsage,
                fmt::format("the URL has a parameter '{}' that is not part of a SAS: remove it "
                            "(snapshots and versions are not staged; a '?' in a name is %3F)",
                            show(name)));
  }
  url.sas = text;
  return {};
}

Result<AzureUrl> parse_http(std::string_view text) {
  Result<http::Url> parts = http::parse_url(text);
  if (!parts) return tl::unexpected(parts.error());
  AzureUrl url;
  std::string host = parts->host;
  std::string_view rest = parts->path;
  if (rest.starts_with('/')) rest.remove_prefix(1);

  if (auto account = account_of_host(host)) {
    if (parts->scheme != "https") {
      return fail(ExitCode::kUsage,
                  "use https:// for " + host + ": credentials are not sent in clear");
    }
    url.account = *account;
    parts->host = host;
  } else {
    url.account = take_segment(rest);
    url.base = "/" + url.account;
  }
  url.origin = parts->origin();
  url.container = take_segment(rest);
  Result<std::string> container = http::decode(url.container);  // $root may come as %24root
  Result<std::string> path = http::decode(rest);
  if (!path) return tl::unexpected(path.error());
  if (!container) return tl::unexpected(container.error());
  url.container = std::move(*container);
  url.path = std::move(*path);
  if (Status status = take_query(parts->query, url); !status) {
    return tl::unexpected(status.error());
  }
  if (Status status = check_names(url); !status) return tl::unexpected(status.error());
  return url;
}

}  // namespace

bool is_azure_url(std::string_view url, const Variables& variables) {
  if (url.starts_with("az://")) return true;
  Result<http::Url> parts = http::parse_url(url);
  if (!parts) return false;
  const bool signature =
      parts->query.starts_with("sig=") || parts->query.find("&sig=") != std::string::npos;
  std::string host = parts->host;
  if (account_of_host(host)) {
    parts->host = host;
    return signature || is_trusted_azure(parts->origin(), variables);
  }
  // Addresses are emulators' where anything says so; else of any web server.
  if (is_address_or_local(host) &&
      (signature || parts->port == "10000" || parts->path.starts_with("/devstoreaccount1/"))) {
    return true;
  }
  // A custom domain is one account's; its URLs have no account in their path, so they are az://
  // only.
  const Result<http::Url> endpoint = named_endpoint(variables);
  const bool emulator = endpoint && (endpoint->path.size() > 1 || !endpoint->port.empty());
  return emulator && endpoint->origin() == parts->origin();
}

bool is_trusted_azure(const std::string& origin, const Variables& variables) {
  // Those of azcopy's --trusted-microsoft-suffixes, and OneLake's.
  static constexpr std::array<std::string_view, 6> kSuffixes = {
      ".core.windows.net", ".core.chinacloudapi.cn", ".core.usgovcloudapi.net",
      ".core.cloudapi.de", ".storage.azure.net",     ".fabric.microsoft.com"};
  const Result<http::Url> url = http::parse_url(origin);
  if (!url) return false;
  const bool own = std::any_of(kSuffixes.begin(), kSuffixes.end(), [&](std::string_view suffix) {
    return url->host.ends_with(suffix);
  });
  const Result<http::Url> endpoint = named_endpoint(variables);
  return own || (endpoint && endpoint->origin() == url->origin());
}

std::string azure_authority(const std::string& origin) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 2> kClouds = {{
      {".core.usgovcloudapi.net", "https://login.microsoftonline.us"},
      {".core.chinacloudapi.cn", "https://login.chinacloudapi.cn"},
  }};
  const auto url = http::parse_url(origin);
  for (const auto& [suffix, authority] : kClouds) {
    if (url && url->host.ends_with(suffix)) return authority;
  }
  return "https://login.microsoftonline.com";
}

Result<AzureUrl> parse_azure_url(std::string_view url, const Variables& variables) {
  return url.starts_with("az://") ? parse_az(url, variables) : parse_http(url);
}

}  // namespace stage_model::source
