#include "engine/http/date.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/scan.h"

namespace stage_model::http {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<std::time_t> to_time(int year, int month, int day, int hour, int minute, int second) {
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) {
    return std::nullopt;
  }
  std::tm parts{};
  parts.tm_year = year - 1900;
  parts.tm_mon = month - 1;
  parts.tm_mday = day;
  parts.tm_hour = hour;
  parts.tm_min = minute;
  parts.tm_sec = second;
  return timegm(&parts);
}

}  // namespace

std::string format_http_date(std::time_t when) {
  std::tm parts{};
  gmtime_r(&when, &parts);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                     kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::optional<std::time_t> parse_http_date(std::string_view text) {
  const auto comma = text.find(", ");
  if (comma != 3) return std::nullopt;
  text.remove_prefix(5);
  int day = 0, year = 0, hour = 0, minute = 0, second = 0;
  if (!take_digits(text, 2, day) || !take_literal(text, " ")) return std::nullopt;
  const auto* month = std::find(kMonths.begin(), kMonths.end(), text.substr(0, 3));
  if (month == kMonths.end()) return std::nullopt;
  text.remove_prefix(3);
  if (!take_literal(text, " ") || !take_digits(text, 4, year) || !take_literal(text, " ") ||
      !take_digits(text, 2, hour) || !take_literal(text, ":") || !take_digits(text, 2, minute) ||
      !take_literal(text, ":") || !take_digits(text, 2, second) || text != " GMT") {
    return std::nullopt;
  }
  return to_time(year, static_cast<int>(month - kMonths.begin()) + 1, day, hour, minute, second);
}

}  // namespace stage_model::http
