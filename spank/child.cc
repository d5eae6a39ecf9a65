#include "spank/child.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "engine/base/text.h"

namespace stage_model::spank {
namespace {

using Clock = std::chrono::steady_clock;

// Puts /dev/null (or `log`) on 0, 1 and 2 whatever is there now, and closes the rest.
void settle_descriptors(const char* log) {
  // With fd 0 closed, open() may itself return 0: dup2 onto the same number would then leave it
  // as it is, which is right for /dev/null and wrong for nothing else, as we open it first.
  const int null = ::open("/dev/null", O_RDWR);
  const int out =
      log != nullptr ? ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600) : -1;
  // Above 2, so that no dup2 below hits what another one needs.
  const int safe_null = ::fcntl(null, F_DUPFD, 3);
  const int safe_out = out >= 0 ? ::fcntl(out, F_DUPFD, 3) : safe_null;
  ::dup2(safe_null, STDIN_FILENO);
  ::dup2(safe_out, STDOUT_FILENO);
  ::dup2(safe_out, STDERR_FILENO);
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, 3U, ~0U, 0U) == 0) return;
#endif
  for (int fd = 3; fd < 65536; ++fd) ::close(fd);
}

void default_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The parent may have died before the request took effect.
void die_with_parent(pid_t parent, int number) {
  ::prctl(PR_SET_PDEATHSIG, number);
  if (::getppid() != parent) ::_exit(127);
}

std::vector<char*> pointers(const std::vector<std::string>& items) {
  std::vector<char*> out;
  out.reserve(items.size() + 1);
  for (const std::string& item : items) out.push_back(const_cast<char*>(item.c_str()));
  out.push_back(nullptr);
  return out;
}

Ended ended(int status) {
  if (WIFSIGNALED(status)) return {true, WTERMSIG(status)};
  return {false, WEXITSTATUS(status)};
}

}  // namespace

std::string Ended::text() const {
  if (!by_signal) return "exit status " + std::to_string(number);
  const char* name = ::sigdescr_np(number);
  return "signal " + std::to_string(number) +
         (name != nullptr ? " (" + std::string(name) + ")" : "");
}

Child::~Child() {
  if (!running()) return;
  signal(SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}

Result<Child> Child::program(const std::string& path, const std::vector<std::string>& arguments,
                             const std::vector<std::string>& environment, const std::string& log) {
  std::vector<std::string> words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  // Everything that allocates happens before the fork.
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(environment);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail(ExitCode::kStopped, path + ": cannot fork: " + errno_text(errno));
  if (pid == 0) {
    ::setsid();
    die_with_parent(parent, SIGTERM);
    default_signals();
    settle_descriptors(log.c_str());
    ::umask(022);
    ::execve(path.c_str(), argv.data(), envp.data());
    ::dprintf(STDERR_FILENO, "%s: %s\n", path.c_str(), std::strerror(errno));
    ::_exit(127);
  }
  return Child(pid);
}

Result<Child> Child::function(const std::function<int()>& body) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail(ExitCode::kStopped, "cannot fork: " + errno_text(errno));
  if (pid == 0) {
    die_with_parent(parent, SIGKILL);
    default_signals();
    int result = 125;
    try {
      result = body();
    } catch (...) {  // the parent's stack must not be unwound a second time
    }
    ::_exit(result);
  }
  return Child(pid);
}

std::optional<Ended> Child::poll() {
  if (!running()) return std::nullopt;
  int status = 0;
  const pid_t got = ::waitpid(pid_, &status, WNOHANG);
  if (got == 0 || (got < 0 && errno == EINTR)) return std::nullopt;
  pid_ = 0;
  // Somebody else reaped it (a SIGCHLD ignored by our host): nothing is known of its end.
  if (got < 0) return Ended{false, 125};
  return ended(status);
}

std::optional<Ended> Child::wait(double seconds) {
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  auto pause = std::chrono::milliseconds(1);
  while (true) {
    if (auto end = poll()) return end;
    if (!running() || Clock::now() >= until) return std::nullopt;
    std::this_thread::sleep_for(pause);
    if (pause < std::chrono::milliseconds(20)) pause *= 2;
  }
}

void Child::signal(int number) const {
  if (running()) ::kill(pid_, number);
}

int run_as(uid_t uid, gid_t gid, double seconds, const std::function<int()>& body) {
  auto child = Child::function([&] {
    settle_descriptors(nullptr);
    if (::geteuid() == 0 && uid != 0) {
      if (::setgroups(0, nullptr) != 0 || ::setgid(gid) != 0 || ::setuid(uid) != 0) return 125;
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the change of identity cleared it
    }
    return body();
  });
  if (!child) return -1;
  const auto end = child->wait(seconds);
  return end && !end->by_signal ? end->number : -1;
}

}  // namespace stage_model::spank
