#include "engine/http/redirect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/http/redirect_cache.h"

namespace stage_model::http {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string to(const std::string& location) {
  const auto place = follow({"https://hub.example", "/a/b/c?q=1"}, location);
  return place ? place->url() : "refused: " + place.error().message;
}

TEST(HttpRedirect, FormsOfLocation) {
  EXPECT_EQ(to("https://cdn.example/x?sig=a%2Fb"), "https://cdn.example/x?sig=a%2Fb");
  EXPECT_EQ(to("https://CDN.example:443"), "https://cdn.example/");
  EXPECT_EQ(to("//cdn.example:8443/x"), "https://cdn.example:8443/x");
  EXPECT_EQ(to("/x%20y?z#part"), "https://hub.example/x%20y?z");
  EXPECT_EQ(to("../d/./e"), "https://hub.example/a/d/e");
  EXPECT_EQ(to("d"), "https://hub.example/a/b/d");
  EXPECT_EQ(to("?r=2"), "https://hub.example/a/b/c?r=2");
  EXPECT_EQ(to("../../../../x"), "https://hub.example/x");
  EXPECT_EQ(to("/.."), "https://hub.example/");
}

TEST(HttpRedirect, WhatIsNotFollowed) {
  EXPECT_THAT(to(""), HasSubstr("without a usable Location"));
  EXPECT_THAT(to("/a b"), HasSubstr("without a usable Location"));
  EXPECT_THAT(to("/a\r\nX: y"), HasSubstr("without a usable Location"));
  EXPECT_THAT(to("ftp://x/y"), HasSubstr("refused"));
  EXPECT_THAT(to("https://user:pass@x/y"), HasSubstr("refused"));
  const std::string down = to("http://hub.example/x?token=SECRET");
  EXPECT_THAT(down, HasSubstr("from https to plain http"));
  EXPECT_THAT(down, Not(HasSubstr("SECRET")));
}

Route route(const std::string& path) {
  Route out;
  out.home = {"https://hub", path};
  return out;
}

TEST(HttpRedirects, OneFindsOutAndTheOthersFollow) {
  RedirectCache cache(true);
  Route first = route("/x");
  Route second = route("/x");
  cache.send(first, 0);
  EXPECT_TRUE(cache.being_found(second));
  ASSERT_TRUE(cache.redirect(first, "https://cdn/y"));
  EXPECT_FALSE(first.at_home());
  EXPECT_TRUE(cache.being_found(second));
  cache.found(first, 0);
  ASSERT_FALSE(cache.being_found(second));
  cache.send(second, 1);
  EXPECT_EQ(second.now().url(), "https://cdn/y");
  Route later = route("/x");
  cache.send(later, 1e6);  // forgotten by then
  EXPECT_TRUE(later.finding);
}

TEST(HttpRedirects, APlaceThatRefusesIsForgotten) {
  RedirectCache cache(true);
  Route one = route("/x");
  for (int i = 0; i < 3; ++i) {
    cache.send(one, 0);
    ASSERT_TRUE(cache.redirect(one, "https://cdn/" + std::to_string(i)));
    EXPECT_TRUE(cache.lost(one));
    EXPECT_TRUE(one.at_home());
  }
  cache.send(one, 0);
  ASSERT_TRUE(cache.redirect(one, "https://cdn/9"));
  EXPECT_FALSE(cache.lost(one));  // not because it expired
}

TEST(HttpRedirects, ThereAndBackIsHomeAndLoopsAreNot) {
  RedirectCache cache(true);
  Route one = route("/x");
  cache.send(one, 0);
  ASSERT_TRUE(cache.redirect(one, "https://other/y"));
  ASSERT_TRUE(cache.redirect(one, "https://hub/z"));
  EXPECT_TRUE(one.at_home());
  EXPECT_THAT(cache.redirect(one, "https://other/y").error().message, HasSubstr("in a loop"));
  Route many = route("/m");
  Status status;
  for (int i = 0; status; ++i) status = cache.redirect(many, "/n" + std::to_string(i));
  EXPECT_THAT(status.error().message, HasSubstr("more than 5 times"));
}

}  // namespace
}  // namespace stage_model::http
