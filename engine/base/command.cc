#include "engine/base/command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "engine/base/clock.h"
#include "engine/base/fd.h"
#include "engine/base/text.h"

namespace stage_model {
namespace {

constexpr std::size_t kMaxOutput = 1 << 20;
constexpr std::size_t kPiece = 4096;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// 0 or errno.
int spawn(std::vector<std::string>& command, std::vector<std::string>& environment, int output,
          pid_t* child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  const int error = posix_spawnp(child, command[0].c_str(), &actions, &attributes,
                                 pointers(command).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

// Reads until the end of the output, its limit or the deadline.
void read_output(int file, double deadline, CommandEnd& end) {
  std::array<char, kPiece> piece{};
  while (end.output.size() < kMaxOutput) {
    const double left_ms = (deadline - now()) * 1e3;
    pollfd waiting = {file, POLLIN, 0};
    const int ready = left_ms > 0 ? ::poll(&waiting, 1, static_cast<int>(left_ms) + 1) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      end.late = true;
      return;
    }
    const ssize_t got = ::read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    end.output.append(piece.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

bool CommandEnd::succeeded() const {
  return !late && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Result<CommandEnd> run_command(std::vector<std::string> command,
                               std::vector<std::string> environment, double seconds) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(ExitCode::kStopped, errno_text(errno));
  Fd reading(ends[0]);
  Fd writing(ends[1]);
  const double deadline = now() + seconds;
  pid_t child = -1;
  if (const int error = spawn(command, environment, writing.get(), &child); error != 0) {
    return fail(ExitCode::kStopped, errno_text(error));
  }
  writing = Fd();
  CommandEnd end;
  read_output(reading.get(), deadline, end);
  reading = Fd();  // what still writes is ended by that
  while (!end.late && ::waitpid(child, &end.status, WNOHANG) == 0) {
    end.late = now() >= deadline;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (end.late) {
    ::kill(-child, SIGKILL);
    ::waitpid(child, &end.status, 0);
  }
  return end;
}

}  // namespace stage_model
