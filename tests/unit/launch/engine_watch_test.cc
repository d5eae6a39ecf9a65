#include "engine/launch/engine_watch.h"

#include <gtest/gtest.h>

#include <csignal>
#include <variant>

namespace stage_model::launch {
namespace {

using Word = StatusEvent::Word;

StatusEvent says(Word word, const std::string& text = "") {
  StatusEvent event;
  event.word = word;
  event.text = text;
  return event;
}

class EngineWatchTest : public testing::Test {
 protected:
  // The signals that were asked for since the last call, e.g. "TERM KILL".
  std::string signals() {
    std::string sent;
    for (const Action& action : actions_) {
      const auto* end = std::get_if<EndEngine>(&action);
      if (end != nullptr)
        sent += std::string(sent.empty() ? "" : " ") + (end->at_once ? "KILL" : "TERM");
    }
    actions_.clear();
    return sent;
  }
  Actions actions_;
  EngineWatch watch_{EngineLimits{60, 10, 2, 5}, "n1", actions_, 100};
};

TEST_F(EngineWatchTest, EndsWell) {
  watch_.said(101, says(Word::kConnected));
  watch_.said(102, says(Word::kStaged, "/x"));
  watch_.finalized();
  EXPECT_FALSE(watch_.ended({0, 0, ""}));
  EXPECT_TRUE(watch_.ended_well());
}

TEST_F(EngineWatchTest, ZeroIsNotEnough) {
  watch_.said(101, says(Word::kConnected));
  EXPECT_EQ(watch_.ended({0, 0, "; bye"})->reason,
            "the engine ended before it had staged anything; bye");
  EXPECT_FALSE(watch_.ended_well());
}

TEST_F(EngineWatchTest, WithoutFinalizeItsPeersMayWaitForEver) {
  watch_.said(102, says(Word::kStaged, "/x"));
  EXPECT_EQ(watch_.ended({0, 0, ""})->weight, Weight::kNoFinalize);
}

TEST_F(EngineWatchTest, HasSomeTimeToStartAndSomeBetweenLines) {
  EXPECT_FALSE(watch_.tick(159));
  watch_.said(159, says(Word::kConnected));
  watch_.said(160, says(Word::kStage, "move"));
  EXPECT_EQ(watch_.next_deadline(), 170);
  EXPECT_FALSE(watch_.tick(169));
  EXPECT_EQ(watch_.tick(170)->reason,
            "the engine has said nothing for 10 s (stage: move); is its disk or the process "
            "stopped?");
  EXPECT_FALSE(watch_.tick(200)) << "said once";
}

TEST_F(EngineWatchTest, DoesNotStart) {
  EXPECT_EQ(watch_.tick(160)->reason, "the engine did not get through MPI_Init within 60 s");
}

TEST_F(EngineWatchTest, TheFirstReasonCounts) {
  StatusEvent failed = says(Word::kFailed, "disk full");
  failed.code = ExitCode::kDestination;
  EXPECT_EQ(watch_.said(101, failed)->reason, "disk full");
  EXPECT_FALSE(watch_.aborted(1, "", ""));
  EXPECT_FALSE(watch_.ended({4, 0, ""}));
  EXPECT_TRUE(watch_.has_ended());
}

TEST_F(EngineWatchTest, IsToldToEndAndThenEnded) {
  watch_.terminate(110);
  EXPECT_EQ(signals(), "TERM");
  EXPECT_EQ(watch_.next_deadline(), 112);
  watch_.tick(111);
  EXPECT_EQ(signals(), "");
  watch_.tick(112);
  EXPECT_EQ(signals(), "KILL");
  EXPECT_FALSE(watch_.ended({0, SIGKILL, ""})) << "a consequence";
}

TEST_F(EngineWatchTest, WhatHasEndedIsNotEndedAgain) {
  EXPECT_EQ(watch_.ended({0, SIGKILL, ""})->reason, "the engine was killed by signal 9 (Killed)");
  watch_.terminate(110);
  EXPECT_EQ(signals(), "");
}

}  // namespace
}  // namespace stage_model::launch
