#include "engine/contract/iso_time.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "engine/base/scan.h"

namespace stage_model {
namespace {

// "T08:49[:37[.123]]Z" after the date.
bool read_clock(std::string_view text, std::tm& parts) {
  if (text.empty()) return true;
  if (!take_literal(text, "T") || !take_digits(text, 2, parts.tm_hour) ||
      !take_literal(text, ":") || !take_digits(text, 2, parts.tm_min)) {
    return false;
  }
  if (take_literal(text, ":")) {
    if (!take_digits(text, 2, parts.tm_sec)) return false;
    if (take_literal(text, ".")) {
      const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
      if (digits == 0) return false;
      text.remove_prefix(digits);
    }
  }
  return text == "Z";
}

}  // namespace

std::optional<std::time_t> parse_iso_time(std::string_view text) {
  std::tm parts{};
  if (!take_digits(text, 4, parts.tm_year) || !take_literal(text, "-") ||
      !take_digits(text, 2, parts.tm_mon) || !take_literal(text, "-") ||
      !take_digits(text, 2, parts.tm_mday) || !read_clock(text, parts)) {
    return std::nullopt;
  }
  if (parts.tm_mon < 1 || parts.tm_mon > 12 || parts.tm_mday < 1 || parts.tm_mday > 31 ||
      parts.tm_hour > 23 || parts.tm_min > 59 || parts.tm_sec > 60) {
    return std::nullopt;
  }
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return ::timegm(&parts);
}

std::string format_iso_time(std::time_t when) {
  std::tm parts{};
  ::gmtime_r(&when, &parts);
  std::array<char, 96> out{};  // not strftime: it writes years before 1000 in fewer digits
  const int length =
      std::snprintf(out.data(), out.size(), "%04d-%02d-%02dT%02d:%02d:%02dZ", parts.tm_year + 1900,
                    parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
  return {out.data(), static_cast<std::size_t>(length)};
}

}  // namespace stage_model
