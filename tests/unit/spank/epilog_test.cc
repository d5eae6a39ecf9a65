#include <gmock/gmock.h>

#include "fake_slurm.h"
#include "spank/hooks.h"
#include "spank/marker.h"

namespace stage_model::spank {
namespace {

using ::testing::IsEmpty;

class EpilogTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    set_job_environment();
    setenv("SPANK_STAGE_MODEL_REQUEST", "2;m=,az://acct/cont/m", 1);
    configure("policy.keep = \"job\"\n");
    model = root + "/alice/m";
    std::filesystem::create_directories(model + "/sub");
    std::ofstream(model + "/sub/file") << "x";
    save("7", model);
  }
  void save(const std::string& job, const std::string& directory) {
    Record record;
    record.state = RecordState::kStaged;
    record.uid = ::geteuid();
    record.gid = ::getegid();
    record.models = {{"", directory}};
    ASSERT_TRUE(write_record(state, job, record));
  }
  bool record_is_there() const { return std::filesystem::exists(record_path(state, "7")); }
  bool model_is_there() const { return std::filesystem::exists(model + "/sub/file"); }
  std::string model;
};

TEST_F(EpilogTest, KeepAlwaysRemovesTheRecordOnly) {
  configure("");
  ASSERT_TRUE(mark_job(arguments.jobs_dir, "7"));
  run_epilog(slurm, arguments);
  EXPECT_EQ(look_for_mark(arguments.jobs_dir, "7"), Mark::kNone);
  EXPECT_FALSE(record_is_there());
  EXPECT_TRUE(model_is_there());
}

TEST_F(EpilogTest, KeepJobRemovesTheModelToo) {
  run_epilog(slurm, arguments);
  EXPECT_FALSE(record_is_there());
  EXPECT_TRUE(std::filesystem::is_empty(root + "/alice"));
  run_epilog(slurm, arguments);  // again, and where no prolog ran
  EXPECT_THAT(slurm.errors, IsEmpty());
}

TEST_F(EpilogTest, JobWithoutTheFlagLeavesAllAlone) {
  unsetenv("SPANK_STAGE_MODEL_REQUEST");
  run_epilog(slurm, arguments);
  EXPECT_TRUE(record_is_there());
}

TEST_F(EpilogTest, WhatAnotherJobUsesStays) {
  for (const std::string& used : {model, model + "/sub", root + "/alice"}) {
    save("7", model);
    save("8", used);
    run_epilog(slurm, arguments);
    EXPECT_TRUE(model_is_there()) << used;
  }
  save("8", model + "2");  // a neighbour with a longer name is another directory
  save("7", model);
  run_epilog(slurm, arguments);
  EXPECT_FALSE(model_is_there());
}

TEST_F(EpilogTest, AnUnreadableRecordMeansHandsOff) {
  save("8", "/elsewhere");
  std::ofstream(record_path(state, "8"), std::ios::trunc) << "garbage";
  run_epilog(slurm, arguments);
  EXPECT_TRUE(model_is_there());
}

TEST_F(EpilogTest, NothingOutsideTheRootsGoes) {
  const std::string outside = base + "/outside";
  std::filesystem::create_directories(outside + "/sub");
  for (const std::string& path : {outside, root + "/../outside", root, std::string("/"),
                                  std::string("relative"), root + "/./../outside"}) {
    save("7", path);
    run_epilog(slurm, arguments);
    EXPECT_TRUE(std::filesystem::exists(outside + "/sub")) << path;
    EXPECT_TRUE(model_is_there()) << path;
  }
}

TEST_F(EpilogTest, LinksAreNotFollowed) {
  const std::string outside = base + "/outside";
  std::filesystem::create_directories(outside + "/m");
  std::filesystem::create_directory_symlink(outside, root + "/link");
  save("7", root + "/link/m");  // a link on the way
  run_epilog(slurm, arguments);
  EXPECT_TRUE(std::filesystem::exists(outside + "/m"));
  std::filesystem::create_directory_symlink(outside, model + "/inside");
  save("7", model);  // a link inside goes, what it points to stays
  run_epilog(slurm, arguments);
  EXPECT_FALSE(model_is_there());
  EXPECT_TRUE(std::filesystem::exists(outside + "/m"));
}

TEST_F(EpilogTest, RecordOfAnotherUserRemovesNothing) {
  setenv("SLURM_JOB_UID", "12345", 1);
  run_epilog(slurm, arguments);
  EXPECT_TRUE(model_is_there());
  EXPECT_FALSE(record_is_there());
}

}  // namespace
}  // namespace stage_model::spank
