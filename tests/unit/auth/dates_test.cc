#include <gtest/gtest.h>

#include "engine/auth/http_date.h"

namespace stage_model::auth {
namespace {

TEST(AuthDates, HttpDatesBothWays) {
  EXPECT_EQ(format_http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
  for (const char* bad : {"", "Sun, 06 Nov 1994 08:49:37", "Sun, 6 Nov 1994 08:49:37 GMT",
                          "Sun, 06 Nox 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT",
                          "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 N"}) {
    EXPECT_FALSE(parse_http_date(bad)) << bad;
  }
}

TEST(AuthDates, TimesOfSignatures) {
  EXPECT_EQ(parse_iso_time("1994-11-06"), 784080000);
  EXPECT_EQ(parse_iso_time("1994-11-06T08:49Z"), 784111740);
  EXPECT_EQ(parse_iso_time("1994-11-06T08:49:37Z"), 784111777);
  EXPECT_EQ(parse_iso_time("1994-11-06T08:49:37.1234567Z"), 784111777);
  EXPECT_EQ(format_iso_time(784111777), "1994-11-06T08:49:37Z");
  for (const char* bad : {"", "1994", "1994-13-06", "1994-11-06T08Z", "1994-11-06T08:49:37",
                          "1994-11-06T08:49:37+01:00", "1994-11-06T08:49:37.Z"}) {
    EXPECT_FALSE(parse_iso_time(bad)) << bad;
  }
}

}  // namespace
}  // namespace stage_model::auth
