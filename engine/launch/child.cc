#include "engine/launch/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "stage_model/channel.h"
#include "stage_model/units.h"

namespace stage_model::launch {
namespace {

constexpr int kPipeCapacity = 65536;
constexpr rlim_t kFiles = 65536;

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  bool open() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
  void close_read() { close_one(&read_end); }
  void close_write() { close_one(&write_end); }
  static void close_one(int* fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
  }
};

struct Pipes {
  Pipe credentials;
  Pipe status;
  Pipe out;
  Pipe err;
  bool open() { return credentials.open() && status.open() && out.open() && err.open(); }
  void close_all() {
    for (Pipe* pipe : {&credentials, &status, &out, &err}) {
      pipe->close_read();
      pipe->close_write();
    }
  }
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// From here to the end of run_child only what POSIX allows between fork and exec in a process with
// threads: no allocation, no locks, no stdio.

void say(int fd, const char* text) {
  [[maybe_unused]] const ssize_t written = write(fd, text, strlen(text));
}

[[noreturn]] void give_up(int status_fd, const char* what, int error) {
  say(status_fd, "failed 8 - the engine could not be started: ");
  say(status_fd, what);
  say(status_fd, ": ");
  const char* text = strerrordesc_np(error);
  say(status_fd, text != nullptr ? text : "unknown error");
  say(status_fd, "\n");
  _exit(127);
}

void raise_limit(decltype(RLIMIT_NOFILE) resource, rlim_t wanted) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return;
  const rlimit raised{wanted, limit.rlim_max > wanted ? limit.rlim_max : wanted};
  if (setrlimit(resource, &raised) == 0) return;
  limit.rlim_cur = limit.rlim_max;  // without root: as far as it goes
  setrlimit(resource, &limit);
}

struct ChildView {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const Identity* identity;
  bool switch_user;
  pid_t parent;
  int null_fd;
  const Pipes* pipes;
};

[[noreturn]] void run_child(const ChildView& view) {
  const int status_fd = view.pipes->status.write_end;
  setsid();
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  umask(S_IWGRP | S_IWOTH);
  raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
  raise_limit(RLIMIT_NOFILE, kFiles);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  dup2(view.null_fd, STDIN_FILENO);
  dup2(view.pipes->out.write_end, STDOUT_FILENO);
  dup2(view.pipes->err.write_end, STDERR_FILENO);
  // PMIx opens descriptors of its own: whatever there is stays here, except for the two.
  syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  fcntl(view.pipes->credentials.read_end, F_SETFD, 0);
  fcntl(status_fd, F_SETFD, 0);
  if (view.switch_user) {
    const Identity& user = *view.identity;
    if (setgroups(user.groups.size(), user.groups.data()) != 0 ||
        setresgid(user.gid, user.gid, user.gid) != 0 ||
        setresuid(user.uid, user.uid, user.uid) != 0) {
      give_up(status_fd, "cannot become the user", errno);
    }
  }
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // After setuid, which clears it. If the launcher died before, nobody would tell.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != view.parent) _exit(127);
  execve(view.program, view.arguments, view.environment);
  give_up(status_fd, view.program, errno);
}

// Puts the credentials into the pipe before anybody reads: they fit, or are refused.
Status fill_credentials(int fd, const std::vector<std::string>& credentials) {
  std::string all;
  for (const std::string& credential : credentials) {
    all += credential;
    all.push_back('\0');
  }
  if (all.size() > kPipeCapacity) {
    return fail(ExitCode::kUsage, "the job's credentials are larger than 64 KiB");
  }
  fcntl(fd, F_SETPIPE_SZ, kPipeCapacity);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  std::size_t done = 0;
  while (done < all.size()) {
    const ssize_t put = write(fd, all.data() + done, all.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      return fail(ExitCode::kStopped,
                  "cannot hand the credentials to the engine: the kernel's "
                  "limit on pipe buffers is reached");
    }
    done += static_cast<std::size_t>(put);
  }
  return {};
}

}  // namespace

std::string raise_memlock() {
  rlimit limit{};
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_MEMLOCK, &unlimited) == 0) return {};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_max == RLIM_INFINITY) return {};  // without root: the child goes as far as it may
  return fmt::format(
      "locked memory is limited to {} and cannot be raised; TCP works, RDMA needs "
      "LimitMEMLOCK=infinity in slurmd's unit",
      format_size(limit.rlim_max));
}

Result<std::unique_ptr<Child>> Child::start(const ChildSpec& spec) {
  Pipes pipes;
  const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null_fd < 0 || !pipes.open()) {
    const int error = errno;
    pipes.close_all();
    Pipe{null_fd, -1}.close_read();
    return fail(ExitCode::kStopped,
                fmt::format("no pipe for the engine: {}", std::strerror(error)));
  }
  Status filled = fill_credentials(pipes.credentials.write_end, spec.credentials);
  pipes.credentials.close_write();
  if (!filled) {
    pipes.close_all();
    close(null_fd);
    return tl::unexpected(filled.error());
  }
  std::vector<std::string> arguments = spec.arguments;
  arguments.insert(arguments.begin(), spec.program);
  std::vector<std::string> environment = spec.environment;
  environment.push_back(fmt::format("{}={}", kCredentialsFdVariable, pipes.credentials.read_end));
  environment.push_back(fmt::format("{}={}", kStatusFdVariable, pipes.status.write_end));
  const std::vector<char*> argument_list = pointers(arguments);
  const std::vector<char*> environment_list = pointers(environment);
  const ChildView view{spec.program.c_str(),
                       argument_list.data(),
                       environment_list.data(),
                       &spec.identity,
                       spec.switch_user,
                       getpid(),
                       null_fd,
                       &pipes};
  const pid_t pid = fork();
  if (pid == 0) run_child(view);
  const int error = errno;
  close(null_fd);
  pipes.credentials.close_read();
  pipes.status.close_write();
  pipes.out.close_write();
  pipes.err.close_write();
  if (pid < 0) {
    pipes.close_all();
    return fail(ExitCode::kStopped,
                fmt::format("cannot start a process: {}", std::strerror(error)));
  }
  std::unique_ptr<Child> child(new Child());
  child->pid_ = pid;
  child->exit_fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  child->status_fd_ = pipes.status.read_end;
  child->stdout_fd_ = pipes.out.read_end;
  child->stderr_fd_ = pipes.err.read_end;
  if (child->exit_fd_ < 0) {
    return fail(ExitCode::kStopped, fmt::format("pidfd_open: {}", std::strerror(errno)));
  }
  for (const int fd : {child->status_fd_, child->stdout_fd_, child->stderr_fd_}) {
    fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  return child;
}

Child::~Child() {
  if (!reaped_) signal_group(SIGKILL);
  for (int* fd : {&exit_fd_, &status_fd_, &stdout_fd_, &stderr_fd_}) Pipe::close_one(fd);
}

void Child::signal_group(int number) const {
  if (reaped_) return;
  // Just after fork the group may not be there yet, hence the process as well.
  kill(pid_, number);
  kill(-pid_, number);
}

int Child::reap() {
  // The group goes first: once it is reaped, the pid may be somebody else's.
  signal_group(SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  return status;
}

}  // namespace stage_model::launch
