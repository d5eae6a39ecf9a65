#include "engine/launch/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

namespace stage_model::launch {
namespace {

ChildSpec shell(const std::string& script) {
  ChildSpec spec;
  spec.program = "/bin/sh";
  spec.arguments = {"-c", script};
  spec.environment = {"PATH=/usr/bin:/bin"};
  return spec;
}

// Everything until the end of file.
std::string read_all(int fd) {
  std::string all;
  std::array<char, 4096> piece{};
  for (;;) {
    pollfd ready{fd, POLLIN, 0};
    if (poll(&ready, 1, 10000) <= 0) return all + "(no end)";
    const ssize_t got = read(fd, piece.data(), piece.size());
    if (got <= 0) return all;
    all.append(piece.data(), static_cast<std::size_t>(got));
  }
}

TEST(Child, CredentialsAndStatusComeByDescriptor) {
  ChildSpec spec = shell(
      "tr '\\0' ' ' <&$STAGE_MODEL_CREDENTIALS_FD; echo connected >&$STAGE_MODEL_STATUS_FD; echo e "
      ">&2");
  spec.credentials = {"A=1", "B=two words"};
  auto child = Child::start(spec);
  ASSERT_TRUE(child) << child.error().message;
  EXPECT_EQ(read_all((*child)->stdout_fd()), "A=1 B=two words ");
  EXPECT_EQ(read_all((*child)->status_fd()), "connected\n");
  EXPECT_EQ(read_all((*child)->stderr_fd()), "e\n");
  EXPECT_EQ((*child)->reap(), 0);
}

TEST(Child, NothingElseIsInherited) {
  // A number that no pipe of the child's can have.
  const int leak = fcntl(STDIN_FILENO, F_DUPFD, 200);
  ASSERT_GE(leak, 200);
  auto child = Child::start(shell("for f in /proc/self/fd/*; do echo ${f##*/}; done"));
  ASSERT_TRUE(child);
  const std::string open = read_all((*child)->stdout_fd());
  EXPECT_EQ(open.find("\n" + std::to_string(leak) + "\n"), std::string::npos) << open;
  (*child)->reap();
  close(leak);
}

TEST(Child, AProgramThatIsNotThereSaysSoOnTheStatusChannel) {
  ChildSpec spec = shell("");
  spec.program = "/no/such/program";
  auto child = Child::start(spec);
  ASSERT_TRUE(child);
  EXPECT_EQ(
      read_all((*child)->status_fd()),
      "failed 8 - the engine could not be started: /no/such/program: No such file or directory\n");
  EXPECT_EQ(WEXITSTATUS((*child)->reap()), 127);
}

TEST(Child, TooManyCredentialsAreRefused) {
  ChildSpec spec = shell("");
  spec.credentials = {"A=" + std::string(70000, 'x')};
  const auto child = Child::start(spec);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, ExitCode::kUsage);
  EXPECT_EQ(child.error().message.find("xxx"), std::string::npos);
}

TEST(Child, ItsOwnChildrenEndWithIt) {
  auto child = Child::start(shell("sleep 1000 & echo $!; wait"));
  ASSERT_TRUE(child);
  std::array<char, 64> text{};
  pollfd ready{(*child)->stdout_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, 10000), 1);
  ASSERT_GT(read((*child)->stdout_fd(), text.data(), text.size() - 1), 0);
  const auto grandchild = static_cast<pid_t>(std::strtol(text.data(), nullptr, 10));
  ASSERT_EQ(kill(grandchild, 0), 0);
  (*child)->signal_group(SIGTERM);
  ready = {(*child)->exit_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, 10000), 1);
  EXPECT_EQ(WTERMSIG((*child)->reap()), SIGTERM);
  // The pipe ends once the last holder of its other end is gone.
  EXPECT_EQ(read_all((*child)->stdout_fd()), "");
}

}  // namespace
}  // namespace stage_model::launch
