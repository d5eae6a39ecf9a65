#include "engine/http/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/text.h"

namespace stage_model::http {
namespace {

void lower(std::string& text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
}

bool valid_port(std::string_view port) {
  if (port.empty() || port.size() > 5) return false;
  unsigned value = 0;
  for (const char c : port) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value > 0 && value < 65536;
}

bool valid_host(std::string_view host) {
  if (host.empty()) return false;
  const bool bracketed = host.front() == '[';
  if (bracketed != (host.back() == ']')) return false;
  return std::all_of(host.begin(), host.end(), [bracketed](char c) {
    const bool name =
        (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    return name || (bracketed && (c == ':' || c == '[' || c == ']'));
  });
}

}  // namespace

std::string encode(std::string_view text) { return percent_encode(text); }
std::string encode_path(std::string_view text) { return percent_encode(text, "/"); }

Result<std::string> decode(std::string_view text) {
  if (auto plain = percent_decode(text)) return std::move(*plain);
  return fail(ExitCode::kUsage, "'%' without two hex digits in a URL: write a percent sign as %25");
}

Result<Query> parse_query(std::string_view text) {
  if (!text.empty() && text.front() == '?') text.remove_prefix(1);
  Query query;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    if (item.empty()) continue;
    const std::size_t equals = item.find('=');
    Result<std::string> name = decode(item.substr(0, equals));
    Result<std::string> value =
        equals == std::string_view::npos ? std::string() : decode(item.substr(equals + 1));
    if (!name) return tl::unexpected(name.error());
    if (!value) return tl::unexpected(value.error());
    query.emplace_back(std::move(*name), std::move(*value));
  }
  return query;
}

std::string format_query(const Query& query) {
  std::string out;
  for (const auto& [name, value] : query) {
    if (!out.empty()) out += '&';
    out += encode(name);
    out += '=';
    out += encode(value);
  }
  return out;
}

std::string Url::origin() const {
  return port.empty() ? scheme + "://" + host : scheme + "://" + host + ":" + port;
}

Result<Url> parse_url(std::string_view text) {
  Url url;
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return fail(ExitCode::kUsage, "not a URL: no '://' in it");
  url.scheme = std::string(text.substr(0, colon));
  lower(url.scheme);
  if (url.scheme != "http" && url.scheme != "https") {
    return fail(ExitCode::kUsage, "not an http or https URL");
  }
  text.remove_prefix(colon + 3);

  const std::size_t authority_end = std::min(text.find_first_of("/?"), text.size());
  const std::string_view authority = text.substr(0, authority_end);
  text.remove_prefix(authority_end);
  if (authority.find('@') != std::string_view::npos) {
    return fail(ExitCode::kUsage, "a URL with a user name or password in it is not accepted");
  }
  const std::size_t port_at = authority.rfind(':');
  const bool has_port =
      port_at != std::string_view::npos && authority.find(']', port_at) == std::string_view::npos;
  url.host = std::string(authority.substr(0, has_port ? port_at : authority.size()));
  lower(url.host);
  if (!valid_host(url.host)) return fail(ExitCode::kUsage, "no valid host name in the URL");
  if (has_port) {
    url.port = std::string(authority.substr(port_at + 1));
    if (!valid_port(url.port)) {
      return fail(ExitCode::kUsage, fmt::format("bad port in the URL of host {}", url.host));
    }
  }
  const std::size_t mark = std::min(text.find('?'), text.size());
  url.path = std::string(text.substr(0, mark));
  url.query = std::string(text.substr(std::min(text.size(), mark + 1)));
  return url;
}

}  // namespace stage_model::http
