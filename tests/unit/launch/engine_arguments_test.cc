#include "engine/launch/engine_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stage_model/units.h"

namespace stage_model::launch {
namespace {

using testing::ElementsAre;

// The engine's reading of it.
double partial_keep(const Config& config) {
  constexpr std::string_view kOption = "--partial-keep=";
  const auto arguments = engine_arguments(config, {});
  EXPECT_EQ(arguments.size(), 1U);
  EXPECT_EQ(arguments.at(0).substr(0, kOption.size()), kOption);
  const auto seconds = parse_duration(std::string_view(arguments.at(0)).substr(kOption.size()));
  EXPECT_TRUE(seconds) << seconds.error().message;
  return seconds.value_or(-1);
}

TEST(EngineArguments, PartialKeepOfTheConfigurationReachesTheEngine) {
  Config config;
  EXPECT_DOUBLE_EQ(partial_keep(config), 86400);
  for (const double seconds : {0.0, 0.25, 90.0, 3650 * 86400.0}) {
    config.partial_keep_s = seconds;
    EXPECT_DOUBLE_EQ(partial_keep(config), seconds);
  }
  config.partial_keep_s = 1e-7;  // printed plainly it has an exponent
  EXPECT_DOUBLE_EQ(partial_keep(config), 0);
}

TEST(EngineArguments, TheSitesOptionsThenTheRuns) {
  Config config;
  config.options = {"--verify", "store"};
  stage_model::EngineCommand run;
  run.arguments = {"az://a/c/m/", "/dest"};
  EXPECT_THAT(engine_arguments(config, run),
              ElementsAre("--partial-keep=86400s", "--verify", "store", "az://a/c/m/", "/dest"));
}

TEST(EngineArguments, TheDirectoryIsBehindTheSource) {
  stage_model::EngineCommand run;
  run.directory = "/nvme/alice/m";
  run.arguments = {"az://a/c/m/", "--no-progress", "--include=*.json"};
  EXPECT_THAT(engine_arguments({}, run),
              ElementsAre("--partial-keep=86400s", "az://a/c/m/", "/nvme/alice/m", "--no-progress",
                          "--include=*.json"));
}

TEST(EngineArguments, WhoNamesTheOptionDecides) {
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--partial-keep", "1h"}, {"--partial-keep=1h"}}) {
    Config config;
    config.options = option;
    EXPECT_EQ(engine_arguments(config, {}), option);
    config.options.clear();
    stage_model::EngineCommand run;
    run.arguments = option;
    EXPECT_EQ(engine_arguments(config, run), option);
  }
}

}  // namespace
}  // namespace stage_model::launch
