#include "engine/launch/verdict.h"

#include <gtest/gtest.h>

namespace stage_model::launch {
namespace {

Report report(Weight weight, const char* node) {
  return {weight, ExitCode::kStopped, node, "reason"};
}

TEST(Verdict, ACauseOutranksItsConsequences) {
  Verdict verdict;
  EXPECT_TRUE(verdict.empty());
  verdict.add(report(Weight::kAbort, "z"));
  verdict.add(report(Weight::kExit, "a"));
  EXPECT_EQ(verdict.best().node, "a");
  verdict.add(report(Weight::kEngineFabric, "b"));
  verdict.add(report(Weight::kLost, "c"));
  EXPECT_EQ(verdict.best().node, "c");
  verdict.add(report(weight_of_engine_reason(ExitCode::kDestination), "d"));
  verdict.add(report(Weight::kSignal, "e"));
  EXPECT_EQ(verdict.best().node, "d");
  verdict.add(report(Weight::kCancelled, "f"));
  EXPECT_EQ(verdict.best().node, "f");
}

// Found by the simulator, seed 3984: a launcher stopped, and all the others' engines waited for its
// engine in MPI_Init.
TEST(Verdict, WhoIsLostIsTheCauseOfWhatWaitsForIt) {
  Verdict verdict;
  verdict.add(report(Weight::kStalled, "a"));
  verdict.add(report(Weight::kLost, "b"));
  verdict.add(report(Weight::kStalled, "c"));
  EXPECT_EQ(verdict.best().node, "b");
}

TEST(Verdict, OfEqualsTheFirst) {
  Verdict verdict;
  verdict.add(report(Weight::kLost, "first"));
  verdict.add(report(Weight::kLost, "second"));
  EXPECT_EQ(verdict.best().node, "first");
}

}  // namespace
}  // namespace stage_model::launch
