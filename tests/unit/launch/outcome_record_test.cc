#include "engine/launch/outcome_record.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "stage_model/record.h"

namespace stage_model::launch {
namespace {

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
