#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/launch/check.h"

namespace stage_model::launch {
namespace {

using Grade = Finding::Grade;

std::string text(const std::string& flags, const std::string& timeout) {
  return fmt::format(
      "Configuration data as of 2026-11-30T01:00:00\nBatchStartTimeout       = 10 sec\n"
      "MessageTimeout          = 10 sec\nPrologEpilogTimeout     = {}\n"
      "PrologFlags             = {}\nSLURM_VERSION           = 22.05.8\n",
      timeout, flags);
}

Grade worst(const std::vector<Finding>& findings, const std::string& what) {
  Grade grade = Grade::kOk;
  bool found = false;
  for (const Finding& finding : findings) {
    if (finding.what != what) continue;
    found = true;
    if (finding.grade > grade) grade = finding.grade;
  }
  EXPECT_TRUE(found) << what;
  return grade;
}

TEST(CheckSlurm, Flags) {
  const Config config;
  const std::string unset = "65534 sec";
  EXPECT_EQ(worst(check_slurm(text("Alloc,DeferBatch", unset), config), "PrologFlags"), Grade::kOk);
  EXPECT_EQ(worst(check_slurm(text("Alloc", unset), config), "PrologFlags"), Grade::kFail);
  EXPECT_EQ(worst(check_slurm(text("(null)", unset), config), "PrologFlags"), Grade::kFail);
  EXPECT_EQ(worst(check_slurm(text("Alloc,DeferBatch,Serial", unset), config), "PrologFlags"),
            Grade::kFail);
  EXPECT_EQ(worst(check_slurm(text("Alloc,DeferBatch,NoHold", unset), config), "PrologFlags"),
            Grade::kWarn);
}

TEST(CheckSlurm, ATimerBelowTheDeadlineDrainsNodes) {
  Config config;
  config.deadline_s = 600;
  const std::string flags = "Alloc,DeferBatch";
  const std::string timer = "PrologEpilogTimeout";
  EXPECT_EQ(worst(check_slurm(text(flags, "65534 sec"), config), timer), Grade::kOk);
  EXPECT_EQ(worst(check_slurm(text(flags, "600 sec"), config), timer), Grade::kFail);
  EXPECT_EQ(worst(check_slurm(text(flags, "900 sec"), config), timer), Grade::kOk);
}

TEST(CheckSlurm, AJobThatWaitsForItsModelMustNotBeRequeued) {
  Config config;
  const std::string all = text("Alloc,DeferBatch", "65534 sec");
  EXPECT_EQ(worst(check_slurm(all, config), "BatchStartTimeout"), Grade::kFail);
  config.deadline_s = 1;
  std::string longer = all;
  longer.replace(longer.find("= 10 sec"), 8, "= 31 sec");
  EXPECT_EQ(worst(check_slurm(longer, config), "BatchStartTimeout"), Grade::kOk);
}

TEST(CheckSlurm, ShortTimersAreWarnedOf) {
  const auto findings = check_slurm(text("Alloc,DeferBatch", "65534 sec"), Config{});
  EXPECT_EQ(worst(findings, "MessageTimeout"), Grade::kWarn);
}

TEST(CheckSlurm, NoController) {
  const auto findings = check_slurm("Slurm backup controller at x are DOWN\n", Config{});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].grade, Grade::kWarn);
}

}  // namespace
}  // namespace stage_model::launch
