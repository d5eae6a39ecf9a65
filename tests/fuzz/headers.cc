// What servers say in headers: numbers in their bounds, dates that come out as they went in.
#include "engine/http/headers.h"

#include <fmt/format.h>

#include "engine/contract/iso_time.h"
#include "engine/http/date.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string_view text = fuzz::text_of(data, size);
  constexpr std::time_t kNow = 1'800'000'000;
  constexpr std::time_t kYear9999 = 253'370'764'800;  // dates have four digits for the year

  std::string_view value = text;
  const auto line = http::parse_header_line(text);
  if (line) {
    fuzz::expect(!line->first.empty(), "a header has a name");
    value = line->second;
    const auto again = http::parse_header_line(line->first + ": " + line->second + "\r\n");
    fuzz::expect(again && *again == *line, "a header line comes out as it went in");
  }
  if (const auto number = http::parse_number(value)) {
    const std::string digits(
        value.substr(std::min(value.find_first_not_of('0'), value.size() - 1)));
    fuzz::expect(std::to_string(*number) == digits, "a number comes out as it went in");
  }
  if (const auto range = http::parse_content_range(value)) {
    fuzz::expect(range->first <= range->last, "a range has a first and a last byte");
    fuzz::expect(!range->total || range->last < *range->total, "a range lies in its object");
    const auto again =
        http::parse_content_range(fmt::format("bytes {}-{}/{}", range->first, range->last,
                                              range->total ? std::to_string(*range->total) : "*"));
    fuzz::expect(again && again->first == range->first && again->last == range->last &&
                     again->total == range->total,
                 "a range comes out as it went in");
  }
  if (const auto wait = http::parse_retry_after(value, kNow)) {
    fuzz::expect(*wait >= 0 && *wait <= http::kMaxRetryAfter, "a wait is bounded");
  }
  const auto date = http::parse_http_date(value);
  if (date && *date < kYear9999) {
    fuzz::expect(http::parse_http_date(http::format_http_date(*date)) == date, "a date is a date");
  }
  const auto time = parse_iso_time(value);
  if (time && *time < kYear9999) {
    fuzz::expect(parse_iso_time(format_iso_time(*time)) == time, "a time is a time");
  }
  http::condition(value);
  return 0;
}
