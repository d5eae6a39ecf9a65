// RFC 7231 dates, independent of the locale. Pure functions; thread-safe.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace stage_model::http {

std::string format_http_date(std::time_t when);  // "Sun, 06 Nov 1994 08:49:37 GMT"
// That one form only: the others have been obsolete since 1999.
std::optional<std::time_t> parse_http_date(std::string_view text);

}  // namespace stage_model::http
