// Strict parsers of what servers say in headers. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace stage_model::http {

// Names in lower case; of repeated headers the last one.
using Headers = std::map<std::string, std::string>;

// Where a server has no ETags, its time of change takes their place: kTimeTag and an HTTP date.
inline constexpr std::string_view kTimeTag = "Last-Modified: ";
// Where a list states a hash, that; never sent to servers.
inline constexpr std::string_view kHashTag = "sha256:";
inline bool is_time(std::string_view etag) { return etag.starts_with(kTimeTag); }
// The condition that makes a GET fail for any other version; nothing where there can be none (no
// ETag, or a weak one, which If-Match never matches).
std::optional<std::pair<std::string, std::string>> condition(std::string_view etag);

std::string_view header(const Headers& headers, const std::string& name);  // "" if absent

// One "Name: value" line, with its line end. Anything else is nothing.
std::optional<std::pair<std::string, std::string>> parse_header_line(std::string_view line);

// Digits only, no sign, no overflow of 64 bits.
std::optional<std::uint64_t> parse_number(std::string_view text);

struct ContentRange {
  std::uint64_t first = 0, last = 0;   // inclusive
  std::optional<std::uint64_t> total;  // "*" is nothing
};
// "bytes 0-99/1000". Contradictions (last < first, last >= total) are nothing.
std::optional<ContentRange> parse_content_range(std::string_view text);

// Seconds from `now`: a number, or an HTTP date (0 if past). Never more than kMaxRetryAfter.
inline constexpr double kMaxRetryAfter = 60;
std::optional<double> parse_retry_after(std::string_view text, std::time_t now);

}  // namespace stage_model::http
