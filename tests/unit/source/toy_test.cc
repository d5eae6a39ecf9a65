// A source that is added by one file and one line: linked with register.cc as it would be then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/plan/names.h"
#include "engine/source/source.h"
#include "tests/integration/http/fetch.h"

namespace stage_model::source {
namespace {

using testing::HasSubstr;

TEST(SourceToy, IsChosenListedAndRead) {
  auto source = open_source("toy://models/llama", {}, {});
  ASSERT_TRUE(source) << source.error().message;
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  ASSERT_TRUE(plan::check_names(*listing, "/d"));
  ASSERT_EQ(listing->objects.size(), 1U);
  EXPECT_EQ(listing->objects[0].name, "llama");
  auto fetcher = (*source)->fetcher({});
  ASSERT_TRUE(fetcher);
  EXPECT_EQ(*test::fetch(**fetcher, listing->objects[0]), "models/llama");
  EXPECT_EQ(*test::fetch(**fetcher, listing->objects[0], 7, 3), "lla");
}

TEST(SourceToy, IsNamedBesideTheOthers) {
  const auto none = open_source("ftp://h/x", {}, {});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("toy://NAME"));
  EXPECT_THAT(none.error().message, HasSubstr("az://ACCOUNT/CONTAINER/PREFIX/"));
  EXPECT_TRUE(open_source("az://acct/models/x/", {}, {}));
  EXPECT_FALSE(open_source("toy://", {}, {}));
}

}  // namespace
}  // namespace stage_model::source
