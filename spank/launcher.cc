#include "spank/launcher.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "engine/base/text.h"
#include "spank/child.h"

#ifndef STAGE_BINDIR
#error "STAGE_BINDIR: where the package's programs are installed"
#endif

namespace stage_model::spank {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPollPause = std::chrono::milliseconds(500);

volatile std::sig_atomic_t g_stop = 0;
volatile std::sig_atomic_t g_launcher = 0;

// slurmd sends SIGTERM and 10 ms later SIGKILL: the launcher must hear of it here and now.
void on_stop(int) {
  g_stop = 1;
  if (g_launcher > 0) ::kill(g_launcher, SIGTERM);
}

class StopSignals {
 public:
  StopSignals() {
    g_stop = 0;
    struct sigaction action {};
    action.sa_handler = on_stop;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kNumbers.size(); ++i) {
      ::sigaction(kNumbers.at(i), &action, &old_.at(i));
    }
    // An ignored SIGCHLD would take the child's status away from us.
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &plain, &old_child_);
  }
  ~StopSignals() {
    g_launcher = 0;
    for (std::size_t i = 0; i < kNumbers.size(); ++i) {
      ::sigaction(kNumbers.at(i), &old_.at(i), nullptr);
    }
    ::sigaction(SIGCHLD, &old_child_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  static constexpr std::array<int, 3> kNumbers = {SIGTERM, SIGINT, SIGHUP};
  std::array<struct sigaction, 3> old_{};
  struct sigaction old_child_ {};
};

// 0: executable and nobody's but root's (or ours); else why not.
std::string why_not(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno_text(errno);
  if (!S_ISREG(info.st_mode) || (info.st_mode & S_IXUSR) == 0) return "is not a program";
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) return "does not belong to root";
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "is writable by group or others";
  return {};
}

// Asks whether the job is over until it is. In a process of its own because an RPC to a slurmctld
// that is down takes its time, and because it can be killed at any moment.
int watch(const std::function<bool()>& job_is_over) {
  while (!job_is_over()) std::this_thread::sleep_for(kPollPause);
  return 0;
}

}  // namespace

Result<std::string> find_program(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    const std::string why = why_not(program);
    if (!why.empty()) return fail(ExitCode::kUsage, program + ": " + why);
    return program;
  }
  std::string tried;
  for (const char* directory : {STAGE_BINDIR, "/usr/local/bin", "/usr/bin", "/usr/local/sbin",
                                "/usr/sbin", "/opt/stage-model/bin"}) {
    const std::string path = std::string(directory) + "/" + program;
    if (why_not(path).empty()) return path;
    tried += (tried.empty() ? "" : ", ") + std::string(directory);
  }
  return fail(ExitCode::kUsage,
              program + " is not in " + tried + ": set paths.launcher in stage_model.toml");
}

Result<LauncherEnd> run_launcher(const LauncherRun& run) {
  const StopSignals signals;
  const std::vector<std::string> environment = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
      "/usr/bin:/sbin:/bin",
      "HOME=/", "LANG=C.UTF-8"};
  const auto start = Clock::now();
  auto launcher =
      Child::program(run.program, {"--config", run.config_path, "--request", run.order_path},
                     environment, run.log_path);
  if (!launcher) return tl::unexpected<Error>(launcher.error());
  g_launcher = launcher->pid();
  if (g_stop != 0) launcher->signal(SIGTERM);  // it came before the handler knew whom to tell

  std::optional<Child> watcher;
  if (run.job_is_over) {
    if (auto child = Child::function([&] { return watch(run.job_is_over); })) {
      watcher.emplace(std::move(*child));
    }
  }

  LauncherEnd result;
  std::optional<Clock::time_point> told;  // when SIGTERM went out
  bool killed = false;
  const auto tell = [&](LauncherStop why) {
    launcher->signal(SIGTERM);
    told = Clock::now();
    result.stop = why;
  };
  const auto seconds_since = [](Clock::time_point when) {
    return std::chrono::duration<double>(Clock::now() - when).count();
  };
  while (true) {
    if (const auto end = launcher->wait(0.05)) {
      g_launcher = 0;
      result.text = end->text();
      return result;
    }
    if (g_stop != 0 && !told) tell(LauncherStop::kHookStopped);
    if (watcher) {
      // Whatever else ended the watcher says nothing about the job.
      if (const auto end = watcher->poll(); end && !end->by_signal && end->number == 0 && !told) {
        tell(LauncherStop::kJobOver);
      }
    }
    if (!told && seconds_since(start) > run.term_after_s) tell(LauncherStop::kDeadline);
    if (told && !killed && seconds_since(*told) > run.kill_wait_s) {
      launcher->signal(SIGKILL);
      killed = true;
    }
  }
}

}  // namespace stage_model::spank
