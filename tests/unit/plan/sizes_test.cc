// Field case H7: sizes that no store has.
#include "engine/plan/sizes.h"

#include <gmock/gmock.h>

namespace stage_model::plan {
namespace {

using testing::HasSubstr;

Status check(const std::vector<std::uint64_t>& sizes) {
  Listing listing;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    listing.objects.push_back({"o" + std::to_string(i), "", sizes[i], "", {}});
  return check_sizes(listing);
}

void expect_refused(const Status& status, const std::string& name) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ExitCode::kSource);
  EXPECT_THAT(status.error().message, HasSubstr("object '" + name + "'"));
  EXPECT_THAT(status.error().message, HasSubstr("1 EiB"));
  EXPECT_EQ(status.error().message.find('\n'), std::string::npos);
}

TEST(Sizes, UpToTheLimit) {
  EXPECT_TRUE(check({}));
  EXPECT_TRUE(check({0, kMaxBytes, 0}));
  EXPECT_TRUE(check({kMaxBytes / 2, kMaxBytes / 2}));
}

TEST(Sizes, OneObjectTooLarge) {
  expect_refused(check({5, kMaxBytes + 1}), "o1");
  expect_refused(check({UINT64_MAX}), "o0");
}

TEST(Sizes, SumsDoNotWrap) {
  expect_refused(check({1, UINT64_MAX}), "o1");
  expect_refused(check({kMaxBytes, 1}), "o1");
  std::vector<std::uint64_t> many(17, kMaxBytes);  // 2^64 and a bit: the sum would be small again
  expect_refused(check(many), "o1");
  expect_refused(check({kMaxBytes / 2, kMaxBytes / 2, 0, 1}), "o3");
}

}  // namespace
}  // namespace stage_model::plan
