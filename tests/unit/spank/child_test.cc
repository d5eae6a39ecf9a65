#include "spank/child.h"

#include <gmock/gmock.h>
#include <signal.h>

#include "fake_slurm.h"

namespace stage_model::spank {
namespace {

using ::testing::HasSubstr;

class ChildTest : public NodeTest {};

TEST_F(ChildTest, EndIsToldInWords) {
  auto seven = Child::function([] { return 7; });
  ASSERT_TRUE(seven);
  EXPECT_EQ(seven->wait(60)->text(), "exit status 7");
  EXPECT_FALSE(seven->running());
  EXPECT_FALSE(seven->poll());
  auto killed = Child::function([] {
    raise(SIGKILL);
    return 0;
  });
  EXPECT_EQ(killed->wait(60)->text(), "signal 9 (Killed)");
  auto thrown = Child::function([]() -> int { throw 1; });
  EXPECT_EQ(thrown->wait(60)->number, 125);
}

TEST_F(ChildTest, ProgramHasOnlyWhatItIsGiven) {
  const std::string log = base + "/log";
  auto child = Child::program("/bin/sh", {"-c", "ls -l /proc/$$/fd; env; exec cat"}, {"A=b"}, log);
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(60)->text(), "exit status 0");  // cat: stdin is /dev/null
  const std::string text = slurp(log);
  EXPECT_THAT(text, HasSubstr("0 -> /dev/null"));
  EXPECT_THAT(text, HasSubstr("1 -> " + log));
  EXPECT_THAT(text, HasSubstr("A=b"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("HOME=")));
}

// The prolog starts with descriptor 0 closed.
TEST_F(ChildTest, WorksWithDescriptorZeroClosed) {
  const std::string log = base + "/log";
  auto outer = Child::function([&] {
    ::close(0);
    auto child = Child::program("/bin/sh", {"-c", "ls -l /proc/$$/fd; exec cat"}, {}, log);
    const auto end = child->wait(60);
    return end && end->number == 0 ? 0 : 1;
  });
  EXPECT_EQ(outer->wait(60)->number, 0);
  EXPECT_THAT(slurp(log), HasSubstr("0 -> /dev/null"));
}

TEST_F(ChildTest, MissingProgram) {
  auto child = Child::program(base + "/none", {}, {}, base + "/log");
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(60)->number, 127);
  EXPECT_THAT(slurp(base + "/log"), HasSubstr("No such file"));
}

TEST_F(ChildTest, RunAsHasALimit) {
  EXPECT_EQ(run_as(::geteuid(), ::getegid(), 60, [] { return 3; }), 3);
  EXPECT_EQ(run_as(::geteuid(), ::getegid(), 0.05,
                   [] {
                     while (true) pause();
                     return 0;
                   }),
            -1);
}

}  // namespace
}  // namespace stage_model::spank
