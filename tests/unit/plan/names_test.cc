// Field cases N4 (traversal), N7 (lengths), D1 (file and directory at once).
#include "engine/plan/names.h"

#include <gmock/gmock.h>

namespace stage_model::plan {
namespace {

using testing::HasSubstr;

Listing listing(std::vector<std::string> names, std::vector<std::string> directories = {}) {
  Listing out;
  for (auto& name : names) out.objects.push_back({name, name, 1, "", {}});
  out.directories = std::move(directories);
  return out;
}

TEST(Names, OrdinaryOnesPass) {
  EXPECT_TRUE(check_names(
      listing({"a", "b/c", "a b c%20d#e?.bin", "50%.bin", "x+y&z=$^.bin", "..\\..\\x", ".hidden",
               "...", "caf\xc3\xa9", "\xff\xfe", "line\nbreak", "sub/.stage-model/x"}),
      "/nvme/x"));
}

class Refused : public testing::TestWithParam<std::string> {};
TEST_P(Refused, BeforeAnythingIsWritten) {
  const auto ok = check_names(listing({"good.bin", GetParam()}), "/nvme/x");
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, ExitCode::kSource);
  EXPECT_THAT(ok.error().message, HasSubstr("object '"));
  EXPECT_EQ(ok.error().message.find('\n'), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(N4, Refused,
                         testing::Values("model/../../../etc/cron.d/x", "/etc/cron.d/evil",
                                         "a/../b.bin", "..", ".", "a/./b", "", "a//b", "dir/",
                                         ".stage-model/manifest", ".stage-model",
                                         std::string("nul\0byte", 8), std::string(256, 'x'),
                                         "d/" + std::string(256, 'x'), "good.bin"));

TEST(Names, LongestLegalComponentPasses) {
  EXPECT_TRUE(check_names(
      listing({std::string(250, 'x'), std::string(255, 'y'), "d/" + std::string(255, 'z')}), "/n"));
}

TEST(Names, PathOverTheLimitIsRefusedWithTheLimit) {
  std::string deep;
  while (deep.size() < 4200) deep += "component/";
  deep += "x";
  const auto ok = check_names(listing({deep}), "/nvme/x");
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message, HasSubstr("4095"));
}

TEST(Names, FileThatIsAlsoADirectoryIsRefused) {
  const auto ok = check_names(listing({"data", "data/x.bin"}), "/n");
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message, HasSubstr("'data'"));
  EXPECT_FALSE(check_names(listing({"data"}, {"data"}), "/n"));
  EXPECT_TRUE(check_names(listing({"data/x.bin"}, {"data"}), "/n"));
}

TEST(Names, QuotedIsOneSafeLine) {
  EXPECT_EQ(printable("a b"), "'a b'");
  EXPECT_EQ(printable("a\nb\x1b"), "'a\\x0ab\\x1b'");
  EXPECT_EQ(printable("caf\xc3\xa9\xff"), "'caf\xc3\xa9\\xff'");
  EXPECT_LT(printable(std::string(5000, 'x')).size(), 250u);
}

}  // namespace
}  // namespace stage_model::plan
