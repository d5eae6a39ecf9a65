#include "spank/step.h"

#include <gmock/gmock.h>

#include "fake_slurm.h"
#include "spank/marker.h"

namespace stage_model::spank {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;

class StepTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    record.uid = ::geteuid();
    record.state = RecordState::kStaged;
    record.models = {{"", "/nvme/a"}, {"L", "/nvme/l"}};
  }
  void save() {
    ASSERT_TRUE(mark_job(arguments.jobs_dir, "7"));
    ASSERT_TRUE(write_record(state, "7", record));
  }
  int run(bool with_flag = false) {
    Step step(arguments);
    if (with_flag) step.flag_seen();
    step.load(slurm);
    return step.verdict(slurm);
  }
  Record record;
};

TEST_F(StepTest, StagedSetsTheVariables) {
  save();
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(slurm.environment["STAGE_MODEL_DIR"], "/nvme/a");
  EXPECT_EQ(slurm.environment["STAGE_MODEL_DIR_L"], "/nvme/l");
  EXPECT_THAT(slurm.told, IsEmpty());
}

TEST_F(StepTest, FailedEndsWithTheReasonOfTheFirstCause) {
  record.state = RecordState::kFailed;
  record.code = ExitCode::kSource;
  record.node = "n3";
  record.reason = "az://a/c: 404";
  save();
  EXPECT_EQ(run(), 3);
  EXPECT_THAT(slurm.told, ElementsAre("n3: az://a/c: 404"));
  EXPECT_THAT(slurm.environment, Not(Contains(Key("STAGE_MODEL_DIR"))));
}

TEST_F(StepTest, OneTaskPerNodeSpeaks) {
  record.state = RecordState::kFailed;
  record.code = ExitCode::kSource;
  save();
  slurm.task = 3;
  EXPECT_EQ(run(), 3);
  EXPECT_THAT(slurm.told, IsEmpty());
}

TEST_F(StepTest, PendingFailsClosed) {
  record.state = RecordState::kPending;
  save();
  EXPECT_EQ(run(), 8);
  EXPECT_EQ(slurm.told.size(), 1u);
}

TEST_F(StepTest, FailedNeverEndsWithZero) {
  record.state = RecordState::kFailed;
  record.code = ExitCode::kStaged;
  save();
  EXPECT_NE(run(), 0);
}

TEST_F(StepTest, ForeignAndDamagedRecordsFailClosed) {
  record.uid = ::geteuid() + 1;
  save();
  EXPECT_NE(run(true), 0);
  record.uid = ::geteuid();
  record.models.clear();
  save();
  EXPECT_NE(run(), 0);
  std::ofstream(record_path(state, "7"), std::ios::trunc) << "state = \"staged\"\n";
  EXPECT_NE(run(), 0);
}

TEST_F(StepTest, AskedButNothingStagedNamesTheSetting) {
  EXPECT_EQ(run(true), 2);
  EXPECT_THAT(slurm.told, ElementsAre(HasSubstr("PrologFlags=Alloc,DeferBatch")));
  slurm.told.clear();
  slurm.environment["SLURM_SPANK_STAGE_MODEL_REQUEST"] = "2;m=,az://acct/cont";
  EXPECT_EQ(run(false), 2);
}

TEST_F(StepTest, JobsWithoutTheFlagAreLeftAlone) {
  slurm.environment["PATH"] = "/bin";
  EXPECT_EQ(run(), 0);
  configure("broken");
  EXPECT_EQ(run(), 0);
  unlink(arguments.config_path.c_str());
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(slurm.environment.size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(state));
  EXPECT_THAT(slurm.told, IsEmpty());
  EXPECT_THAT(slurm.errors, IsEmpty());
}

// The mark is all that they look for: neither configuration nor records are read.
TEST_F(StepTest, WithoutFlagAndMarkNoFileIsRead) {
  ASSERT_TRUE(write_record(state, "7", record));
  EXPECT_EQ(run(), 0);
  EXPECT_THAT(slurm.environment, IsEmpty());
  ASSERT_TRUE(mark_job(arguments.jobs_dir, "8"));  // another job's
  EXPECT_EQ(run(), 0);
  EXPECT_THAT(slurm.environment, IsEmpty());
  arguments.prolog = false;  // the site's own scripts make no mark
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(slurm.environment["STAGE_MODEL_DIR"], "/nvme/a");
}

TEST_F(StepTest, BrokenConfigurationIsTheReasonForThoseWhoAsked) {
  configure("[nonsense]\n");
  EXPECT_EQ(run(true), 2);
  EXPECT_THAT(slurm.told, ElementsAre(HasSubstr("nonsense: unknown key")));
}

// As with sbatch --export=NONE: the mark alone says that the job asked, and holds it back.
TEST_F(StepTest, AMarkedJobIsHeldBackWithoutAConfiguration) {
  ASSERT_TRUE(mark_job(arguments.jobs_dir, "7"));
  configure("[nonsense]\n");
  EXPECT_EQ(run(), 2);
  EXPECT_THAT(slurm.told, ElementsAre(HasSubstr("nonsense: unknown key")));
}

TEST_F(StepTest, AMarkedJobIsHeldBackWithoutARecord) {
  ASSERT_TRUE(mark_job(arguments.jobs_dir, "7"));
  EXPECT_NE(run(), 0);
  EXPECT_THAT(slurm.told, ElementsAre(HasSubstr("no model was staged on this node")));
}

// A fault of the node's is no reason to refuse the jobs that never asked; those that did have
// records.
TEST_F(StepTest, WhereMarksCannotBeReadARecordTells) {
  std::filesystem::remove_all(arguments.jobs_dir);
  ASSERT_EQ(::symlink(arguments.jobs_dir.c_str(), arguments.jobs_dir.c_str()), 0);  // ELOOP
  EXPECT_EQ(run(), 0);
  EXPECT_THAT(slurm.told, IsEmpty());
  record.state = RecordState::kPending;
  ASSERT_TRUE(write_record(state, "7", record));
  EXPECT_NE(run(), 0);
}

// The record of an older job of this number, of another user's, where no prolog has run since.
TEST_F(StepTest, AJobWithoutTheFlagIsNeverOurs) {
  record.uid = ::geteuid() + 1;
  save();
  EXPECT_EQ(run(), 0);
  EXPECT_THAT(slurm.told, IsEmpty());
  EXPECT_THAT(slurm.environment, IsEmpty());
  EXPECT_NE(run(true), 0);
}

TEST_F(StepTest, ADefaultThatNobodyReadIsSaid) {
  slurm.environment["STAGE_MODEL"] = "az://acct/cont";
  EXPECT_EQ(run(), 0);  // a step of a job, whose user may set what he likes
  slurm.batch_script = true;
  EXPECT_EQ(run(), 2);
  EXPECT_THAT(slurm.told, ElementsAre(HasSubstr("slurmrestd")));
  slurm.told.clear();
  slurm.environment["STAGE_MODEL"] = "";
  EXPECT_EQ(run(), 0);
  slurm.environment["STAGE_MODEL"] = "az://acct/cont";
  save();  // it was read at submit
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(slurm.environment["STAGE_MODEL_DIR"], "/nvme/a");
}

TEST_F(StepTest, AComponentGetsItsOwnModelOrNone) {
  slurm.environment["SLURM_HET_SIZE"] = "2";
  slurm.environment["SLURM_SPANK_STAGE_MODEL_REQUEST"] = "2;m=,az://acct/cont";  // another's
  slurm.environment["STAGE_MODEL_DIR"] = "/nvme/other";
  slurm.environment["STAGE_MODEL_DIR_X"] = "/nvme/other";
  EXPECT_EQ(run(true), 0);
  EXPECT_THAT(slurm.environment, Not(Contains(Key(HasSubstr("MODEL_DIR")))));
  save();
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(slurm.environment["STAGE_MODEL_DIR"], "/nvme/a");
}

TEST_F(StepTest, SecretsLeaveTheEnvironment) {
  save();
  slurm.environment["SLURM_SPANK_STAGE_MODEL_CREDENTIALS"] = "munge:k";
  slurm.environment["AZURE_STORAGE_KEY"] = "the user's own";
  EXPECT_EQ(run(), 0);
  EXPECT_THAT(slurm.environment, Not(Contains(Key(HasSubstr("CRED")))));
  EXPECT_THAT(slurm.environment, Contains(Key("AZURE_STORAGE_KEY")));
}

}  // namespace
}  // namespace stage_model::spank
