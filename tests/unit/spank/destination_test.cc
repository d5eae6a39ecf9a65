#include "spank/destination.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stage_model::spank {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

Config config() {
  Config config;
  config.roots = {"/nvme", "/scratch"};
  return config;
}

JobRequest ask_for(std::vector<ModelRequest> models, std::string dest = "") {
  return JobRequest{std::move(models), std::move(dest), {}, {}};
}

TEST(Destination, DefaultPlace) {
  Config site = config();
  site.options = {"--verify", "store"};  // the launcher's to add: twice would be too many
  JobRequest request = ask_for({{"", "az://a/c/llama/"}});
  request.include = {"*.json"};
  request.exclude = {"-x"};
  const auto plan = plan_destinations(request, site, "alice");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->root, "/nvme");
  EXPECT_EQ(plan->user_root, "/nvme/alice");
  ASSERT_EQ(plan->runs.size(), 1u);
  EXPECT_THAT(plan->runs[0].directory, MatchesRegex("/nvme/alice/llama-[0-9a-f]+"));
  EXPECT_EQ(plan->runs[0].directory.size(), std::string("/nvme/alice/llama-01234567").size());
  EXPECT_THAT(plan->runs[0].arguments,
              ElementsAre("az://a/c/llama/", "--no-progress", "--include=*.json", "--exclude=-x"));
}

// Changing the hash would make every site stage everything again.
TEST(Destination, NameIsStableAndTellsFiltersApart) {
  const ModelRequest model{"", "az://acct/cont/m/"};
  JobRequest plain = ask_for({model});
  EXPECT_EQ(default_name(plain, model), "m-32242ab2");
  JobRequest include = plain;
  include.include = {"x"};
  JobRequest exclude = plain;
  exclude.exclude = {"x"};
  EXPECT_NE(default_name(include, model), default_name(plain, model));
  EXPECT_NE(default_name(include, model), default_name(exclude, model));
}

TEST(Destination, DestIsTheDirectoryOfOneAndTheParentOfSeveral) {
  const auto one =
      plan_destinations(ask_for({{"", "az://a/c/m"}}, "/scratch/x/y"), config(), "bob");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->root, "/scratch");
  EXPECT_EQ(one->user_root, "");  // not below it
  EXPECT_EQ(one->runs[0].directory, "/scratch/x/y");
  const auto two = plan_destinations(
      ask_for({{"", "az://a/c/m"}, {"L", "az://a/c/n"}}, "/nvme/bob"), config(), "bob");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->user_root, "/nvme/bob");
  EXPECT_EQ(two->runs[0].directory, "/nvme/bob/m");
  EXPECT_EQ(two->runs[1].directory, "/nvme/bob/L");
}

TEST(Destination, Refused) {
  EXPECT_FALSE(plan_destinations(ask_for({{"", "az://a/c/m"}}, "/etc/x"), config(), "bob"));
  EXPECT_FALSE(plan_destinations(ask_for({{"", "az://a/c/m"}}, "/nvme/bob"), config(), "bob"));
  const auto same = plan_destinations(
      ask_for({{"", "az://a/c/L"}, {"L", "az://a/c/n"}}, "/nvme/bob/x"), config(), "bob");
  ASSERT_FALSE(same);
  EXPECT_THAT(same.error().message, HasSubstr("two models"));
}

}  // namespace
}  // namespace stage_model::spank
