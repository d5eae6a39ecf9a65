#include "engine/base/command.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace stage_model {
namespace {

constexpr double kLong = 60;

TEST(Command, GivesWhatItPrintsAndHowItEnded) {
  const auto end = run_command({"/bin/sh", "-c", "cat; echo \"$A\" \"$HOME\"; echo no >&2; exit 3"},
                               {"A=1"}, kLong);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->output, "1 \n");
  EXPECT_FALSE(end->late);
  EXPECT_FALSE(end->succeeded());
  EXPECT_EQ(WEXITSTATUS(end->status), 3);
}

TEST(Command, IsLookedUpAndNotInterpreted) {
  const auto end = run_command({"echo", "$HOME; `ls`"}, {}, kLong);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_TRUE(end->succeeded());
  EXPECT_EQ(end->output, "$HOME; `ls`\n");
  const auto none = run_command({"/no/such/program"}, {}, kLong);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "No such file or directory");
}

TEST(Command, EndsAtTheDeadlineWithAllThatItStarted) {
  // The shell's child holds the pipe too.
  const auto end =
      run_command({"/bin/sh", "-c", "echo a; sleep 1000 & wait"}, {"PATH=/usr/bin:/bin"}, 0.2);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_TRUE(end->late);
  EXPECT_FALSE(end->succeeded());
  EXPECT_EQ(WTERMSIG(end->status), SIGKILL);
}

TEST(Command, OutputIsBounded) {
  const auto end = run_command({"/bin/sh", "-c", "yes"}, {"PATH=/usr/bin:/bin"}, kLong);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_GE(end->output.size(), 1U << 20);
  EXPECT_LT(end->output.size(), 2U << 20);
  EXPECT_FALSE(end->succeeded());
}

}  // namespace
}  // namespace stage_model
