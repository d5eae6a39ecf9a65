#include "engine/launch/ports.h"

#include <gtest/gtest.h>

#include <set>

namespace stage_model::launch {
namespace {

TEST(Ports, StartAtTheJobsOwnAndGoRound) {
  EXPECT_EQ(port_sequence("1002", {100, 103}), (std::vector<std::uint16_t>{102, 103, 100, 101}));
  EXPECT_EQ(port_sequence("7", {100, 100}), (std::vector<std::uint16_t>{100}));
  EXPECT_TRUE(port_sequence("7", {101, 100}).empty());
}

TEST(Ports, ReachTheEndOfTheRange) {
  const auto all = port_sequence("1", {65000, 65535});
  EXPECT_EQ(std::set<std::uint16_t>(all.begin(), all.end()).size(), 536U);
}

TEST(Ports, NamesAreSpreadAndStable) {
  std::set<std::uint16_t> first;
  for (int i = 0; i < 50; ++i)
    first.insert(port_sequence("job-" + std::to_string(i), {1, 1000})[0]);
  EXPECT_GT(first.size(), 30U);
  EXPECT_EQ(port_sequence("a.b", {1, 1000}), port_sequence("a.b", {1, 1000}));
  EXPECT_EQ(port_sequence("99999999999999999999", {1, 10}).size(), 10U) << "no overflow trouble";
}

}  // namespace
}  // namespace stage_model::launch
