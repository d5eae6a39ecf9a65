#include "engine/launch/engine_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace stage_model::launch {
namespace {

constexpr std::size_t kPiece = 16384;
// Per turn of the loop: a flood of output must not keep the heartbeats waiting.
constexpr int kPiecesAtOnce = 16;

}  // namespace

Result<std::unique_ptr<EngineProcess>> EngineProcess::start(Loop& loop, const ChildSpec& spec,
                                                            std::string log_path,
                                                            EngineEvents events) {
  Result<std::unique_ptr<Child>> child = Child::start(spec);
  if (!child) return tl::unexpected(child.error());
  std::unique_ptr<EngineProcess> process(
      new EngineProcess(loop, std::move(log_path), std::move(events)));
  process->child_ = std::move(*child);
  process->watch();
  return process;
}

EngineProcess::EngineProcess(Loop& loop, std::string log_path, EngineEvents events)
    : loop_(loop), log_path_(std::move(log_path)), events_(std::move(events)) {}

EngineProcess::~EngineProcess() {
  for (const int fd :
       {child_->exit_fd(), child_->status_fd(), child_->stdout_fd(), child_->stderr_fd()}) {
    loop_.unwatch(fd);
  }
}

void EngineProcess::watch() {
  loop_.watch(child_->exit_fd(), POLLIN, [this](short) { on_exit(); });
  loop_.watch(child_->status_fd(), POLLIN, [this](short) { read_status(); });
  loop_.watch(child_->stdout_fd(), POLLIN,
              [this](short) { read_output(child_->stdout_fd(), events_.out); });
  loop_.watch(child_->stderr_fd(), POLLIN, [this](short) { read_errors(); });
}

void EngineProcess::read_status() {
  read_output(child_->status_fd(), [this](std::string_view text) {
    for (const StatusEvent& event : status_.append(text)) events_.said(event);
  });
}

void EngineProcess::read_output(int fd, const std::function<void(std::string_view)>& sink) {
  std::array<char, kPiece> piece;  // NOLINT: filled by read
  for (int i = 0; i < kPiecesAtOnce; ++i) {
    const ssize_t got = read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) loop_.unwatch(fd);
    if (got <= 0) return;
    sink({piece.data(), static_cast<std::size_t>(got)});
  }
}

void EngineProcess::read_errors() {
  read_output(child_->stderr_fd(), [this](std::string_view text) {
    tail_.add(text);
    events_.err(text);
  });
}

void EngineProcess::end(bool at_once) {
  if (reaped_) return;
  child_->signal_group(at_once ? SIGKILL : SIGTERM);
  // A stopped process gets its SIGTERM only when it goes on.
  if (!at_once) child_->signal_group(SIGCONT);
}

void EngineProcess::on_exit() {
  loop_.unwatch(child_->exit_fd());
  const int status = child_->reap();
  reaped_ = true;
  // Its last words come before the verdict, and so does what PMIx has posted meanwhile.
  read_status();
  read_output(child_->stdout_fd(), events_.out);
  read_errors();
  loop_.mailbox()->post([this, status, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    const bool killed = WIFSIGNALED(status);
    const EngineEnd end{killed ? 0 : WEXITSTATUS(status), killed ? WTERMSIG(status) : 0,
                        last_words()};
    const auto ended = events_.ended;  // what it leads to may end this object
    ended(end);
  });
}

// The log is root's and goes with the job, so what the user needs stands in the message.
std::string EngineProcess::last_words() const {
  std::string text;
  if (const std::string line = tail_.last_line(); !line.empty()) text = "; it last said: " + line;
  if (!log_path_.empty()) text += fmt::format(" (for the admin: {} there)", log_path_);
  return text;
}

}  // namespace stage_model::launch
