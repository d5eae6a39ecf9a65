#include "engine/launch/outcome.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "stage_model/record.h"

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

TEST(Verdict, OfEqualsTheFirst) {
  Verdict verdict;
  verdict.add(report(Weight::kLost, "first"));
  verdict.add(report(Weight::kLost, "second"));
  EXPECT_EQ(verdict.best().node, "first");
}

TEST(Outcome, OneLineIsOneLine) {
  EXPECT_EQ(one_line("a\nb\tc\x7f"), "a b c ");
  EXPECT_LE(one_line(std::string(100000, 'x')).size(), 2048U);
}

class RecordTest : public testing::Test {
 protected:
  RecordTest() {
    std::string path = std::filesystem::temp_directory_path() / "outcome.XXXXXX";
    state_ = mkdtemp(path.data());
    request_.job = "7";
    request_.record_dir = state_ + "/7";
    request_.uid = 1001;
    request_.user = "alice";
    request_.runs = {{"BASE", "/nvme/alice/x", {"az://x"}}};
  }
  ~RecordTest() override { std::filesystem::remove_all(state_); }
  std::string state_;
  LaunchOrder request_;
};

TEST_F(RecordTest, SaysWhatHappened) {
  EXPECT_EQ(write_outcome(request_, {false, ExitCode::kDestination, "n2", "disk full"}, false), "");
  const auto read = read_record(state_, "7");
  ASSERT_TRUE(read && read->found);
  EXPECT_EQ(read->record.state, RecordState::kFailed);
  EXPECT_EQ(read->record.code, ExitCode::kDestination);
  EXPECT_EQ(read->record.node, "n2");
  EXPECT_EQ(read->record.reason, "disk full");
  EXPECT_EQ(read->record.uid, 1001U);
  ASSERT_EQ(read->record.models.size(), 1U);
  EXPECT_EQ(read->record.models[0].directory, "/nvme/alice/x");
  EXPECT_EQ(write_outcome(request_, {true, ExitCode::kStaged, "", ""}, true), "");
  EXPECT_EQ(read_record(state_, "7")->record.state, RecordState::kStaged);
}

TEST_F(RecordTest, ARemovedDirectoryIsNotMadeAgain) {
  EXPECT_NE(write_outcome(request_, {true, ExitCode::kStaged, "", ""}, true), "");
  EXPECT_FALSE(std::filesystem::exists(request_.record_dir));
}

TEST_F(RecordTest, NoDirectoryNoRecord) {
  request_.record_dir.clear();
  EXPECT_EQ(write_outcome(request_, {true, ExitCode::kStaged, "", ""}, false), "");
}

}  // namespace
}  // namespace stage_model::launch
