#include "engine/http/redirect.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/http/redact.h"

namespace stage_model::http {
namespace {

std::string without_default_port(const Url& url) {
  const bool standard =
      (url.scheme == "https" && url.port == "443") || (url.scheme == "http" && url.port == "80");
  return standard ? url.scheme + "://" + url.host : url.origin();
}

// RFC 3986, 5.2.4, for references that a server left to us to resolve.
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  bool slash = false;
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    slash = part == "." || part == "..";
    if (part == ".." && !kept.empty()) kept.pop_back();
    if (!slash) kept.push_back(part);
    begin = end + 1;
  }
  std::string out;
  for (const std::string_view part : kept) out += "/" + std::string(part);
  return slash || out.empty() ? out + "/" : out;
}

bool plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte != 0x7f;
  });
}

bool has_scheme(std::string_view text) {
  const std::size_t end = text.find_first_of(":/?");
  return end != std::string_view::npos && end > 0 && text[end] == ':';
}

}  // namespace

Location location_of(const Request& request) {
  Location out{request.origin, request.path};
  if (!request.query.empty()) out.target += "?" + format_query(request.query);
  return out;
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

Result<Location> follow(const Location& from, std::string_view location) {
  location = location.substr(0, location.find('#'));
  const std::string shown =
      redact(location.substr(0, std::min(location.find('?'), std::size_t{200})));
  if (location.empty() || !plain(location)) {
    return fail(ExitCode::kSource, "redirects without a usable Location");
  }
  const std::string scheme = from.origin.substr(0, from.origin.find(':'));
  const std::string path = from.target.substr(0, from.target.find('?'));
  if (!has_scheme(location) && !location.starts_with("//")) {
    const std::size_t mark = std::min(location.find('?'), location.size());
    const std::string_view own = location.substr(0, mark);
    const std::string_view query = location.substr(mark);
    if (own.empty()) return Location{from.origin, path + std::string(query)};
    const std::string whole = own.front() == '/'
                                  ? std::string(own)
                                  : path.substr(0, path.rfind('/') + 1) + std::string(own);
    return Location{from.origin, without_dots(whole) + std::string(query)};
  }
  const std::string absolute =
      location.starts_with("//") ? scheme + ":" + std::string(location) : std::string(location);
  Result<Url> url = parse_url(absolute);
  if (!url)
    return fail(ExitCode::kSource,
                fmt::format("redirects to '{}', which is {}", shown, url.error().message));
  if (scheme == "https" && url->scheme != "https") {
    return fail(
        ExitCode::kSource,
        fmt::format("redirects from https to plain http ({}), which is not followed", shown));
  }
  Location out{without_default_port(*url), url->path.empty() ? "/" : url->path};
  if (!url->query.empty()) out.target += "?" + url->query;
  return out;
}

}  // namespace stage_model::http
