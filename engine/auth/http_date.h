// RFC 7231 dates, independent of the locale. Pure functions; thread-safe.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace stage_model::auth {

std::string format_http_date(std::time_t when);  // "Sun, 06 Nov 1994 08:49:37 GMT"
// That one form only: the others have been obsolete since 1999.
std::optional<std::time_t> parse_http_date(std::string_view text);

// ISO 8601 in UTC as SAS tokens hold it: a date, or with minutes, seconds and fractions, then 'Z'.
std::optional<std::time_t> parse_iso_time(std::string_view text);
std::string format_iso_time(std::time_t when);  // "2026-01-31T08:00:00Z"

}  // namespace stage_model::auth
