#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/simulation/base/runner.h"

namespace stage_model::simulation {
namespace {

TEST(Random, IsTheSameOnEveryMachine) {
  Random random(1);
  EXPECT_EQ(random.next(), 12966619160104079557U);
  EXPECT_EQ(random.next(), 9600361134598540522U);
  Random again(1);
  again.next();
  EXPECT_EQ(again.next(), 9600361134598540522U);
}

TEST(Random, StaysWithinItsBounds) {
  Random random(7);
  bool least = false;
  bool most = false;
  for (int i = 0; i < 1000; ++i) {
    const auto value = random.between(-1, 2);
    ASSERT_GE(value, -1);
    ASSERT_LE(value, 2);
    least |= value == -1;
    most |= value == 2;
    ASSERT_LT(random.fraction(), 1.0);
  }
  EXPECT_TRUE(least && most);
}

TEST(VirtualTime, WhatIsDueTogetherHappensInTheOrderAskedFor) {
  VirtualTime time;
  std::vector<int> order;
  time.at(5, [&] { order.push_back(2); });
  time.at(1, [&] {
    order.push_back(1);
    time.at(0, [&] { order.push_back(10); });  // the past: now
    time.after(4, [&] { order.push_back(4); });
  });
  time.at(5, [&] { order.push_back(3); });
  while (time.step()) {
  }
  EXPECT_THAT(order, testing::ElementsAre(1, 10, 2, 3, 4));
  EXPECT_EQ(time.now(), 5);
}

int run_with(std::vector<const char*> arguments, const Simulation& simulation) {
  arguments.insert(arguments.begin(), "test");
  return run("test", static_cast<int>(arguments.size()), const_cast<char**>(arguments.data()),
             simulation);
}

TEST(Runner, StopsAtTheFirstSeedThatFailsAndRunsItAgainWithItsTrace) {
  std::vector<std::uint64_t> ran;
  const auto fails_at_3 = [&](Seed& seed) -> Ran {
    ran.push_back(seed.number);
    seed.trace.add(0, "draws {}", seed.random.below(10));
    if (seed.number == 3) violated("{} is not allowed", 3);
    return {};
  };
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_with({"--seeds", "10"}, fails_at_3), 1);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(ran, testing::ElementsAre(1, 2, 3, 3));
  EXPECT_THAT(told, testing::HasSubstr("seed 3 FAILED: 3 is not allowed"));
  EXPECT_THAT(told, testing::HasSubstr("draws"));
  EXPECT_THAT(told, testing::Not(testing::HasSubstr("differently")));
}

TEST(Runner, AnExceptionOfTheCodeBeingTestedIsAViolation) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_with({"--seeds", "1"}, [](Seed&) -> Ran { throw std::out_of_range("at"); }), 1);
  testing::internal::GetCapturedStderr();
}

TEST(Runner, RefusesWhatItDoesNotKnow) {
  testing::internal::CaptureStderr();
  const Simulation nothing = [](Seed&) { return Ran{}; };
  EXPECT_EQ(run_with({"--seed"}, nothing), 2);
  EXPECT_EQ(run_with({"--seeds", "x"}, nothing), 2);
  EXPECT_EQ(run_with({"--nodes", "0"}, nothing), 2);
  EXPECT_EQ(run_with({"--seeds", "2", "--nodes", "4"}, nothing), 0);
  testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace stage_model::simulation
