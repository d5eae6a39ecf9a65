#include "engine/launch/options.h"

#include <gtest/gtest.h>

namespace stage_model::launch {
namespace {

Result<Options> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "stage-launch");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

TEST(LaunchOptions, WhatFollowsTheDashesIsTheEngines) {
  const auto options =
      parse({"--job", "7", "--index", "2", "--", "--job", "x", "--", "-h", "az://a/b/c/"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->job, "7");
  EXPECT_EQ(options->index, 2);
  EXPECT_EQ(options->engine_arguments,
            (std::vector<std::string>{"--job", "x", "--", "-h", "az://a/b/c/"}));
}

TEST(LaunchOptions, SeveralCredentials) {
  const auto options = parse({"--credential-env", "A", "--credential-env", "B"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->credential_names, (std::vector<std::string>{"A", "B"}));
}

TEST(LaunchOptions, FromTheEnvironment) {
  setenv("JOB_COMPLETION_INDEX", "3", 1);
  setenv("STAGE_LAUNCH_NODES", "a,b,c,d", 1);
  const auto options = parse({"--job", "7"});
  const auto given = parse({"--job", "7", "--index", "1"});
  unsetenv("JOB_COMPLETION_INDEX");
  unsetenv("STAGE_LAUNCH_NODES");
  ASSERT_TRUE(options && given);
  EXPECT_EQ(options->index, 3);
  EXPECT_EQ(options->nodes, "a,b,c,d");
  EXPECT_EQ(given->index, 1) << "an option counts more";
}

TEST(LaunchOptions, MistakesAreOneLine) {
  for (const std::vector<const char*>& bad :
       {std::vector<const char*>{"--nonsense"}, {"--index", "x"}, {"az://a/b/c/"}, {"--job"}}) {
    const auto options = parse(bad);
    ASSERT_FALSE(options);
    EXPECT_EQ(options.error().code, ExitCode::kUsage);
    EXPECT_EQ(options.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace stage_model::launch
