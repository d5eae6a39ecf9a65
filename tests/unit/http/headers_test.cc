#include "engine/http/headers.h"

#include <gtest/gtest.h>

#include "engine/http/date.h"

namespace stage_model::http {
namespace {

TEST(HttpHeaders, NumbersAreStrict) {
  EXPECT_EQ(parse_number("0"), 0U);
  EXPECT_EQ(parse_number("18446744073709551615"), UINT64_MAX);
  for (const char* bad : {"", "-1", "+1", " 1", "1 ", "0x1", "1e3", "18446744073709551616"}) {
    EXPECT_FALSE(parse_number(bad)) << bad;
  }
}

TEST(HttpHeaders, ContentRange) {
  const auto range = parse_content_range("bytes 4294967296-6597069766655/6597069766656");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 1ULL << 32);
  EXPECT_EQ(range->last, (6ULL << 40) - 1);
  EXPECT_EQ(range->total, 6ULL << 40);
  EXPECT_FALSE(parse_content_range("bytes 0-1/*")->total);
  for (const char* bad :
       {"", "bytes", "bytes */10", "bytes 0-1", "bytes 1-0/10", "bytes 0-10/10", "bytes=0-1/10",
        "bytes 0-1/", "bytes -1-1/10", "bytes 0-1/10 ", "bytes 0/1-10", "items 0-1/10"}) {
    EXPECT_FALSE(parse_content_range(bad)) << bad;
  }
}

TEST(HttpHeaders, RetryAfterIsBounded) {
  constexpr std::time_t kNow = 784111777;
  EXPECT_EQ(parse_retry_after("3", kNow), 3);
  EXPECT_EQ(parse_retry_after(" 0 ", kNow), 0);
  EXPECT_EQ(parse_retry_after("100000", kNow), kMaxRetryAfter);
  EXPECT_EQ(parse_retry_after("99999999999999999999999", kNow), kMaxRetryAfter);
  EXPECT_EQ(parse_retry_after(format_http_date(kNow + 7), kNow), 7);
  EXPECT_EQ(parse_retry_after(format_http_date(kNow - 7), kNow), 0);
  EXPECT_EQ(parse_retry_after(format_http_date(kNow + 7777), kNow), kMaxRetryAfter);
  for (const char* bad : {"", "-3", "soon", "3.5"}) EXPECT_FALSE(parse_retry_after(bad, kNow));
}

TEST(HttpHeaders, Lines) {
  const auto line = parse_header_line("X-Ms-Error-Code:  ServerBusy \r\n");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->first, "x-ms-error-code");
  EXPECT_EQ(line->second, "ServerBusy");
  EXPECT_FALSE(parse_header_line("no colon\r\n"));
  EXPECT_FALSE(parse_header_line(": x\r\n"));
}

TEST(HttpHeaders, AnETagOfAListBringsNoHeadersOfItsOwn) {
  ASSERT_TRUE(condition("\"a b\""));
  EXPECT_EQ(condition("\"a b\"")->first, "If-Match");
  EXPECT_FALSE(condition("\"a\r\nHost: elsewhere\""));
  EXPECT_FALSE(condition("Last-Modified: x\nHost: elsewhere"));
}

}  // namespace
}  // namespace stage_model::http
