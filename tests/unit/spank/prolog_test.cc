#include <gmock/gmock.h>

#include "fake_slurm.h"
#include "spank/hooks.h"
#include "spank/marker.h"
#include "spank/seal.h"
#include "stage_model/launch_order.h"

namespace stage_model::spank {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The launcher is a shell script: $order is its order, `outcome STATE CODE REASON` its record.
class PrologTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    set_job_environment();
    ask("2;m=,az://acct/cont/m");
  }
  static void ask(const std::string& text) { setenv("SPANK_STAGE_MODEL_REQUEST", text.c_str(), 1); }
  void launcher(const std::string& body) {
    const std::string path = base + "/launcher";
    std::ofstream(path, std::ios::trunc) << R"(#!/bin/bash
order=$4 record=${4%/*}/record
cp "$order" )" << base << R"(/order.seen
outcome() {
  sed -e "s|^state = .*|state = \"$1\"|; s|^code = .*|code = $2|; s|^reason = .*|reason = \"$3\"|" \
      -e "s|^node = .*|node = \"${4-n2}\"|" "$record" >"$record.t" && chmod 600 "$record.t" &&
    mv "$record.t" "$record"
}
)" << body << "\n";
    chmod(path.c_str(), 0755);
  }
  Record run() {
    run_prolog(slurm, arguments);
    const auto record = read_record(state, "7");
    EXPECT_TRUE(record && record->found);
    return record && record->found ? record->record : Record{};
  }
};

TEST_F(PrologTest, JobWithoutTheFlagLeavesNoTrace) {
  unsetenv("SPANK_STAGE_MODEL_REQUEST");
  configure("broken");
  run_prolog(slurm, arguments);
  EXPECT_FALSE(std::filesystem::exists(state));
  EXPECT_FALSE(std::filesystem::exists(arguments.jobs_dir));
  EXPECT_THAT(slurm.errors, IsEmpty());
}

// slurmctld's job ids came round, and no epilog cleaned up after the older job.
TEST_F(PrologTest, JobWithoutTheFlagDropsWhatAnOlderOneLeft) {
  unsetenv("SPANK_STAGE_MODEL_REQUEST");
  ASSERT_TRUE(mark_job(arguments.jobs_dir, "7"));
  ASSERT_TRUE(mark_job(arguments.jobs_dir, "8"));
  ASSERT_TRUE(write_record(state, "7", Record{}));
  run_prolog(slurm, arguments);
  EXPECT_EQ(look_for_mark(arguments.jobs_dir, "7"), Mark::kNone);
  EXPECT_FALSE(std::filesystem::exists(state + "/7"));
  EXPECT_EQ(look_for_mark(arguments.jobs_dir, "8"), Mark::kThere);
  EXPECT_THAT(slurm.errors, IsEmpty());
}

TEST_F(PrologTest, DamagedCredentialsFailTheJob) {
  launcher("outcome staged 0 ''");
  for (const char* text : {"k", "plain:4", "plain:4x", "munge:", "munge:MUNGE:x:"}) {
    setenv("SPANK_STAGE_MODEL_CREDENTIALS", text, 1);
    EXPECT_EQ(run().state, RecordState::kFailed) << text;
    EXPECT_FALSE(std::filesystem::exists(base + "/order.seen")) << text;
  }
}

TEST_F(PrologTest, LauncherGetsItsOrderAndStages) {
  setenv("SPANK_STAGE_MODEL_CREDENTIALS",
         seal("AZURE_STORAGE_KEY=k\"\\=\nLD_PRELOAD=/evil.so", base + "/no-munge").c_str(), 1);
  ask("2;m=,az://acct/cont/m;m=L,az://acct/cont/l;i=*.json");
  launcher("outcome staged 0 ''");
  const Record record = run();
  EXPECT_EQ(record.state, RecordState::kStaged);
  EXPECT_EQ(record.user, "alice");
  EXPECT_EQ(record.root, root);
  ASSERT_EQ(record.models.size(), 2u);
  EXPECT_EQ(record.models[1].name, "L");

  const auto order = parse_order(slurp(base + "/order.seen"));
  ASSERT_TRUE(order) << order.error().message;
  EXPECT_EQ(order->job, "7");
  EXPECT_EQ(order->index, 1u);
  ASSERT_EQ(order->nodes.size(), 2u);
  EXPECT_EQ(order->nodes[0].name, "n1");
  EXPECT_EQ(order->user_root, root + "/alice");
  EXPECT_EQ(order->record_dir, state + "/7");
  EXPECT_THAT(order->credentials, ElementsAre("AZURE_STORAGE_KEY=k\"\\="));
  EXPECT_EQ(order->runs[0].directory, record.models[0].directory);
  EXPECT_THAT(order->runs[1].arguments, Contains("--include=*.json"));
  EXPECT_DOUBLE_EQ(order->deadline_s, 1800);
  // The credentials went with the order.
  EXPECT_FALSE(std::filesystem::exists(state + "/7/order"));
  EXPECT_THAT(slurm.errors, IsEmpty());
  EXPECT_THAT(slurm.notes, IsEmpty());
}

TEST_F(PrologTest, OrderIsForRootAlone) {
  launcher("stat -c %a $order >" + base + "/mode; outcome staged 0 ''");
  run();
  EXPECT_EQ(slurp(base + "/mode"), "600\n");
}

TEST_F(PrologTest, FailureIsTheLaunchersAndIndexZeroTellsTheUser) {
  launcher("outcome failed 3 'az://acct/cont/m: 404' n1; exit 3");
  EXPECT_EQ(run().code, ExitCode::kSource);
  EXPECT_THAT(slurm.notes, IsEmpty());  // this is index 1
  EXPECT_THAT(slurm.drained, IsEmpty());
  set_job_environment("n1");
  run();
  EXPECT_THAT(slurm.notes, ElementsAre("n1: az://acct/cont/m: 404"));
}

TEST_F(PrologTest, LauncherThatDiesFailsClosedWithItsLastWords) {
  launcher("echo 'line of the launcher'; kill -9 $$");
  const Record record = run();
  EXPECT_EQ(record.state, RecordState::kFailed);
  EXPECT_EQ(record.code, ExitCode::kStopped);
  EXPECT_EQ(record.node, "n2");
  EXPECT_THAT(record.reason, HasSubstr("signal 9"));
  EXPECT_THAT(slurm.errors, Contains("stage-launch: line of the launcher"));
}

TEST_F(PrologTest, PendingIsThereBeforeTheLauncher) {
  launcher("cp $record " + base + "/record.seen; outcome staged 0 ''");
  run();
  EXPECT_THAT(slurp(base + "/record.seen"), HasSubstr("state = \"pending\""));
  EXPECT_THAT(slurp(base + "/record.seen"), HasSubstr("/alice/m-"));
  EXPECT_EQ(look_for_mark(arguments.jobs_dir, "7"), Mark::kThere);
}

TEST_F(PrologTest, DeadlineStaysBelowSlurms) {
  slurm.timeout = 100;
  launcher("outcome staged 0 ''");
  run();
  EXPECT_NEAR(parse_order(slurp(base + "/order.seen"))->deadline_s, 89.6, 0.01);
  slurm.timeout = 9;
  run();
  EXPECT_NEAR(parse_order(slurp(base + "/order.seen"))->deadline_s, 3, 0.01);
}

TEST_F(PrologTest, DeadlineEndsALauncherThatIgnoresEverything) {
  configure("limits.deadline_s = 1\n");
  launcher("trap '' TERM; while :; do sleep 0.1; done");
  const Record record = run();
  EXPECT_EQ(record.state, RecordState::kFailed);
  EXPECT_THAT(record.reason, HasSubstr("not done after 1 s"));
}

TEST_F(PrologTest, CancelReachesTheLauncherFromIndexZero) {
  set_job_environment("n1");
  slurm.life = JobLife::kEnds;
  launcher("trap 'outcome failed 8 cancelled; exit 8' TERM; while :; do sleep 0.05; done");
  EXPECT_THAT(run().reason, HasSubstr("cancelled"));
  launcher("trap 'exit 8' TERM; while :; do sleep 0.05; done");
  EXPECT_THAT(run().reason, HasSubstr("the job ended while"));
}

TEST_F(PrologTest, HostileRequestFailsTheJobAlone) {
  launcher("outcome staged 0 ''");
  for (const char* text : {"", "1", "2;m=,az://acct/cont;d=/etc/x", "9;x",
                           "2;m=,az://acct/cont%0Ax", "2;m=,az://acct/cont;d=/nvme/%2E%2E/x"}) {
    ask(text);
    const Record record = run();
    EXPECT_EQ(record.state, RecordState::kFailed) << text;
    EXPECT_EQ(record.code, ExitCode::kUsage) << text;
    EXPECT_FALSE(std::filesystem::exists(base + "/order.seen")) << text;
  }
}

TEST_F(PrologTest, WrongSurroundingsAreNamed) {
  launcher("outcome staged 0 ''");
  setenv("SLURMD_NODENAME", "n9", 1);
  EXPECT_THAT(run().reason, HasSubstr("n9 is not in the job's node list"));
  setenv("SLURMD_NODENAME", "n2", 1);
  configure("limits.max_nodes = 1\n");
  EXPECT_THAT(run().reason, HasSubstr("at most 1"));
  configure("");
  chmod((base + "/launcher").c_str(), 0777);
  EXPECT_THAT(run().reason, HasSubstr("writable by group or others"));
  unlink((base + "/launcher").c_str());
  EXPECT_THAT(run().reason, HasSubstr("/launcher: No such file"));
}

TEST_F(PrologTest, DrainsOnlyForABrokenDiskAndOnlyIfToldTo) {
  launcher("outcome failed 4 'no space'; exit 4");
  configure("policy.node_fault = \"drain\"\n");
  run();
  EXPECT_THAT(slurm.drained, IsEmpty());  // the disk takes writes: the user's matter
  launcher("outcome failed 4 'I/O error'; rm -r " + root + "; exit 4");
  run();
  EXPECT_THAT(slurm.drained, ElementsAre(HasSubstr("n2 " + root)));
  slurm.drained.clear();
  configure("");
  run();
  EXPECT_THAT(slurm.drained, IsEmpty());
  configure("policy.node_fault = \"drain\"\n");
  launcher("outcome failed 4 'I/O error' n1; exit 4");  // seen on another node
  run();
  EXPECT_THAT(slurm.drained, IsEmpty());
}

}  // namespace
}  // namespace stage_model::spank
