#include "engine/http/headers.h"

#include <algorithm>
#include <charconv>

#include "engine/http/date.h"

namespace stage_model::http {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<std::pair<std::string, std::string>> condition(std::string_view etag) {
  if (etag.empty() || etag.starts_with("W/") || etag.starts_with(kHashTag)) return std::nullopt;
  // Out of a list it may hold line breaks, behind which a server would write headers of its own.
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(etag.begin(), etag.end(), control)) return std::nullopt;
  if (is_time(etag)) {
    return std::make_pair("If-Unmodified-Since", std::string(etag.substr(kTimeTag.size())));
  }
  return std::make_pair("If-Match", std::string(etag));
}

std::string_view header(const Headers& headers, const std::string& name) {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<std::pair<std::string, std::string>> parse_header_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return std::make_pair(std::move(name), std::string(trimmed(line.substr(colon + 1))));
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  if (!all_digits(text)) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) {
    return std::nullopt;
  }
  const auto first = parse_number(text.substr(0, dash));
  const auto last = parse_number(text.substr(dash + 1, slash - dash - 1));
  const std::string_view total_text = text.substr(slash + 1);
  const auto total = parse_number(total_text);
  if (!first || !last || *last < *first) return std::nullopt;
  if (!total && total_text != "*") return std::nullopt;
  if (total && *last >= *total) return std::nullopt;
  return ContentRange{*first, *last, total};
}

std::optional<double> parse_retry_after(std::string_view text, std::time_t now) {
  text = trimmed(text);
  if (all_digits(text)) {
    const auto seconds = parse_number(text);  // nothing: more than 64 bits hold
    return seconds ? std::min(static_cast<double>(*seconds), kMaxRetryAfter) : kMaxRetryAfter;
  }
  const auto when = parse_http_date(text);
  if (!when) return std::nullopt;
  return std::clamp(std::difftime(*when, now), 0.0, kMaxRetryAfter);
}

}  // namespace stage_model::http
