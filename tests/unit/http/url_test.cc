#include "engine/http/url.h"

#include <gtest/gtest.h>

namespace stage_model::http {
namespace {

TEST(HttpUrl, EncodesEverythingButUnreservedBytes) {
  EXPECT_EQ(encode("a b/c%20+#?&=\xc3\xa4~-._"), "a%20b%2Fc%2520%2B%23%3F%26%3D%C3%A4~-._");
  EXPECT_EQ(encode_path("a b/c%20"), "a%20b/c%2520");
}

TEST(HttpUrl, EveryByteSurvivesARoundTrip) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(*decode(encode(all)), all);
  EXPECT_EQ(*decode(encode_path(all)), all);
}

TEST(HttpUrl, DecodesOnceAndStrictly) {
  EXPECT_EQ(*decode("%2520+"), "%20+");
  for (const char* bad : {"%", "%2", "%zz", "a%2"}) EXPECT_FALSE(decode(bad)) << bad;
}

TEST(HttpUrl, SplitsQueries) {
  EXPECT_EQ(*parse_query("?a=b%26&c&&d=e=f"), (Query{{"a", "b&"}, {"c", ""}, {"d", "e=f"}}));
  EXPECT_EQ(format_query({{"marker", "a+b/c== %"}}), "marker=a%2Bb%2Fc%3D%3D%20%25");
  EXPECT_FALSE(parse_query("a=%"));
}

TEST(HttpUrl, ParsesUrls) {
  const auto url = parse_url("HTTPS://Host.Example:8443/a#b/%20?x=y");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->origin(), "https://host.example:8443");
  EXPECT_EQ(url->path, "/a#b/%20");
  EXPECT_EQ(url->query, "x=y");
  EXPECT_EQ(parse_url("http://[::1]:80/")->host, "[::1]");
  EXPECT_EQ(parse_url("http://[::1]")->port, "");
  EXPECT_EQ(parse_url("http://h?q")->query, "q");
}

TEST(HttpUrl, RefusesWhatIsNoUrl) {
  for (const char* bad :
       {"", "host/path", "ftp://h/", "http://", "http:///x", "http://u:p@h/", "http://h:/",
        "http://h:99999/", "http://h:1x/", "http://ho st/", "http://[::1/", "http://h\n/"}) {
    EXPECT_FALSE(parse_url(bad)) << bad;
  }
}

}  // namespace
}  // namespace stage_model::http
