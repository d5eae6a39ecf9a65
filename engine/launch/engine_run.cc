#include "engine/launch/engine_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace stage_model::launch {
namespace {

constexpr std::size_t kPiece = 16384;
// Per turn of the loop: a flood of output must not keep the heartbeats waiting.
constexpr int kPiecesAtOnce = 16;

}  // namespace

Result<std::unique_ptr<EngineRun>> EngineRun::start(Loop& loop, const ChildSpec& spec,
                                                    const EngineLimits& limits, std::string node,
                                                    std::string log_path, EngineEvents events) {
  Result<std::unique_ptr<Child>> child = Child::start(spec);
  if (!child) return tl::unexpected(child.error());
  std::unique_ptr<EngineRun> run(
      new EngineRun(loop, limits, std::move(node), std::move(log_path), std::move(events)));
  run->child_ = std::move(*child);
  run->watch();
  return run;
}

EngineRun::EngineRun(Loop& loop, EngineLimits limits, std::string node, std::string log_path,
                     EngineEvents events)
    : loop_(loop),
      limits_(limits),
      node_(std::move(node)),
      log_path_(std::move(log_path)),
      events_(std::move(events)) {}

EngineRun::~EngineRun() {
  loop_.cancel(watchdog_);
  loop_.cancel(kill_timer_);
  for (const int fd :
       {child_->exit_fd(), child_->status_fd(), child_->stdout_fd(), child_->stderr_fd()}) {
    loop_.unwatch(fd);
  }
}

void EngineRun::watch() {
  loop_.watch(child_->exit_fd(), POLLIN, [this](short) { on_exit(); });
  loop_.watch(child_->status_fd(), POLLIN, [this](short) { read_status(); });
  loop_.watch(child_->stdout_fd(), POLLIN,
              [this](short) { read_output(child_->stdout_fd(), events_.out); });
  loop_.watch(child_->stderr_fd(), POLLIN, [this](short) { read_errors(); });
  arm_watchdog(limits_.start_timeout_s,
               fmt::format("the engine did not get through MPI_Init within {:g} s",
                           limits_.start_timeout_s));
}

void EngineRun::read_status() {
  std::array<char, kPiece> piece;  // NOLINT: filled by read
  for (int i = 0; i < kPiecesAtOnce; ++i) {
    const ssize_t got = read(child_->status_fd(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) loop_.unwatch(child_->status_fd());
    if (got <= 0) return;
    for (const StatusEvent& event : status_.append({piece.data(), static_cast<std::size_t>(got)})) {
      on_status(event);
    }
  }
}

void EngineRun::on_status(const StatusEvent& event) {
  switch (event.kind) {
    case StatusEvent::Kind::kFailed:
      fail_once(weight_of_engine_reason(event.code), event.code, event.node, event.text);
      return;
    case StatusEvent::Kind::kConnected:
      if (!connected_) events_.connected();
      connected_ = true;
      break;
    case StatusEvent::Kind::kStage:
      stage_ = event.text;
      break;
    case StatusEvent::Kind::kStaged:
      staged_ = true;
      stage_ = "end";
      break;
    case StatusEvent::Kind::kAlive:
      break;
  }
  if (connected_ && !has_ended_) {
    arm_watchdog(limits_.stall_timeout_s,
                 fmt::format("the engine has said nothing for {:g} s (stage: {}); is its disk or "
                             "the process stopped?",
                             limits_.stall_timeout_s, stage_));
  }
}

void EngineRun::read_output(int fd, const std::function<void(std::string_view)>& sink) {
  std::array<char, kPiece> piece;  // NOLINT: filled by read
  for (int i = 0; i < kPiecesAtOnce; ++i) {
    const ssize_t got = read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) loop_.unwatch(fd);
    if (got <= 0) return;
    sink({piece.data(), static_cast<std::size_t>(got)});
  }
}

void EngineRun::read_errors() {
  read_output(child_->stderr_fd(), [this](std::string_view text) {
    tail_.add(text);
    events_.err(text);
  });
}

void EngineRun::arm_watchdog(double seconds, const std::string& reason) {
  loop_.cancel(watchdog_);
  watchdog_ = loop_.after(
      seconds, [this, reason] { fail_once(Weight::kStalled, ExitCode::kStopped, "", reason); });
}

void EngineRun::aborted(int status, const std::string& message) {
  fail_once(Weight::kAbort, ExitCode::kFabric, "",
            one_line(fmt::format("the engine called MPI_Abort with status {}{}{}{}", status,
                                 message.empty() ? "" : ": ", message, last_words())));
}

void EngineRun::terminate() {
  terminating_ = true;
  loop_.cancel(watchdog_);
  if (has_ended_ || kill_timer_ != 0) return;
  child_->signal_group(SIGTERM);
  child_->signal_group(SIGCONT);  // a stopped process gets its SIGTERM only when it goes on
  kill_timer_ = loop_.after(limits_.kill_wait_s, [this] { child_->signal_group(SIGKILL); });
}

void EngineRun::on_exit() {
  loop_.unwatch(child_->exit_fd());
  const int status = child_->reap();
  loop_.cancel(watchdog_);
  loop_.cancel(kill_timer_);
  // Its last words come before the verdict, and so does what PMIx has posted meanwhile.
  read_status();
  read_output(child_->stdout_fd(), events_.out);
  read_errors();
  loop_.mailbox()->post([this, status, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) judge(status);
  });
}

void EngineRun::judge(int status) {
  has_ended_ = true;
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    const char* name = sigdescr_np(number);
    fail_once(Weight::kSignal, ExitCode::kStopped, "",
              fmt::format("the engine was killed by signal {} ({}){}", number,
                          name != nullptr ? name : "?", last_words()));
  } else if (WEXITSTATUS(status) != 0) {
    const int code = WEXITSTATUS(status);
    const bool known =
        code >= static_cast<int>(ExitCode::kUsage) && code <= static_cast<int>(ExitCode::kStopped);
    fail_once(
        Weight::kExit, known ? static_cast<ExitCode>(code) : ExitCode::kFabric, "",
        fmt::format("the engine ended with status {} and gave no reason{}", code, last_words()));
  } else if (!staged_) {
    fail_once(Weight::kNoFinalize, ExitCode::kFabric, "",
              fmt::format("the engine ended before it had staged anything{}", last_words()));
  } else if (!finalized_) {
    fail_once(Weight::kNoFinalize, ExitCode::kFabric, "",
              fmt::format("the engine ended without MPI_Finalize{}", last_words()));
  } else if (!failed_ && !terminating_) {
    events_.done();
  }
  events_.ended();
}

void EngineRun::fail_once(Weight weight, ExitCode code, const std::string& node,
                          const std::string& reason) {
  // What follows a failure, or the order to end, is its consequence.
  if (failed_ || terminating_) return;
  failed_ = true;
  loop_.cancel(watchdog_);
  events_.failed({weight, code, node.empty() ? node_ : node, reason});
}

// The log is root's and goes with the job, so what the user needs stands in the message.
std::string EngineRun::last_words() const {
  std::string text;
  if (const std::string line = tail_.last_line(); !line.empty()) text = "; it last said: " + line;
  if (!log_path_.empty()) text += fmt::format(" (for the admin: {} there)", log_path_);
  return text;
}

}  // namespace stage_model::launch
