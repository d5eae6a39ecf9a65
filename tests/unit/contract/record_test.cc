#include "stage_model/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace stage_model {
namespace {

using ::testing::HasSubstr;

class RecordTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(base_), nullptr);
    state_dir_ = std::string(base_) + "/state";
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  char base_[32] = "/tmp/record_test.XXXXXX";
  std::string state_dir_;
};

TEST_F(RecordTest, RoundTrip) {
  Record record;
  record.state = RecordState::kFailed;
  record.code = ExitCode::kSource;
  record.node = "n2";
  record.reason = "az://a/c: 404 \"not\\found\"\nsecond";
  record.user = "alice";
  record.uid = 20001;
  record.gid = 20002;
  record.root = "/nvme";
  record.models = {{"", "/nvme/alice/a b"}, {"T", "/nvme/alice/t"}};
  ASSERT_TRUE(write_record(state_dir_, "7", record));
  const auto read = read_record(state_dir_, "7");
  ASSERT_TRUE(read && read->found);
  EXPECT_EQ(read->record.state, RecordState::kFailed);
  EXPECT_EQ(read->record.code, ExitCode::kSource);
  EXPECT_EQ(read->record.node, "n2");
  EXPECT_EQ(read->record.reason, "az://a/c: 404 \"not\\found\" second");
  EXPECT_EQ(read->record.uid, 20001u);
  EXPECT_EQ(read->record.gid, 20002u);
  EXPECT_EQ(read->record.root, "/nvme");
  ASSERT_EQ(read->record.models.size(), 2u);
  EXPECT_EQ(read->record.models[1].name, "T");
  EXPECT_EQ(read->record.models[0].directory, "/nvme/alice/a b");

  record.state = RecordState::kStaged;
  ASSERT_TRUE(write_record(state_dir_, "7", record));
  EXPECT_EQ(read_record(state_dir_, "7")->record.state, RecordState::kStaged);
}

TEST_F(RecordTest, NobodyElseMayLook) {
  umask(0);
  ASSERT_TRUE(write_record(state_dir_, "7", Record{}));
  struct stat info {};
  ASSERT_EQ(stat(record_path(state_dir_, "7").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(stat((state_dir_ + "/7").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  int files = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(state_dir_ + "/7")) {
    ++files;
  }
  EXPECT_EQ(files, 1);  // no temporary is left
}

TEST_F(RecordTest, MissingIsNotAnError) {
  const auto read = read_record(state_dir_, "8");
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->found);
  EXPECT_TRUE(remove_record(state_dir_, "8"));
}

TEST_F(RecordTest, DamagedOrForeignFailsClosed) {
  ASSERT_TRUE(write_record(state_dir_, "7", Record{}));
  const std::string path = record_path(state_dir_, "7");
  for (const char* text : {"", "state = \"staged\"\n", "format = 1\nstate = \"fine\"\nuid = 1\n",
                           "format = 9\nstate = \"staged\"\nuid = 0\ngid = 0\n", "\xff\xfe"}) {
    std::ofstream(path, std::ios::trunc) << text;
    const auto read = read_record(state_dir_, "7");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ExitCode::kStopped);
  }
  ASSERT_TRUE(write_record(state_dir_, "7", Record{}));
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  EXPECT_FALSE(read_record(state_dir_, "7"));
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/etc/passwd", path);
  EXPECT_FALSE(read_record(state_dir_, "7"));
}

TEST_F(RecordTest, StateDirectoryOfOthersIsRefused) {
  ASSERT_EQ(mkdir(state_dir_.c_str(), 0777), 0);
  ASSERT_EQ(chmod(state_dir_.c_str(), 0777), 0);
  const Status status = write_record(state_dir_, "7", Record{});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ExitCode::kDestination);
  EXPECT_THAT(status.error().message, HasSubstr("writable by group or others"));
}

TEST_F(RecordTest, JobCannotLeaveTheDirectory) {
  for (const char* job : {"", "..", "a/b", "../../etc"}) {
    EXPECT_FALSE(write_record(state_dir_, job, Record{})) << job;
    EXPECT_FALSE(read_record(state_dir_, job)) << job;
    EXPECT_FALSE(remove_record(state_dir_, job)) << job;
  }
}

TEST_F(RecordTest, RemoveTakesEverythingButFollowsNothing) {
  ASSERT_TRUE(write_record(state_dir_, "7", Record{}));
  const std::string outside = std::string(base_) + "/outside";
  std::filesystem::create_directory(outside);
  std::ofstream(outside + "/keep") << "x";
  std::filesystem::create_directory(state_dir_ + "/7/session");
  std::filesystem::create_directory_symlink(outside, state_dir_ + "/7/session/link");
  ASSERT_TRUE(remove_record(state_dir_, "7"));
  EXPECT_FALSE(std::filesystem::exists(state_dir_ + "/7"));
  EXPECT_TRUE(std::filesystem::exists(outside + "/keep"));
}

}  // namespace
}  // namespace stage_model
