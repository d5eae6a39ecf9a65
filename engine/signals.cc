#include "engine/signals.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>

namespace stage_model {
namespace {

volatile std::sig_atomic_t received = 0;
double limit = 0;
std::chrono::steady_clock::time_point deadline;

void note(int signal) { received = signal; }

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = note;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

void set_deadline(double seconds) {
  limit = seconds;
  deadline = std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                 std::chrono::duration<double>(seconds));
}

Status stop_requested() {
  if (received != 0) return fail(ExitCode::kStopped, "cancelled");
  if (limit > 0 && std::chrono::steady_clock::now() > deadline) {
    return fail(
        ExitCode::kStopped,
        fmt::format("not done after {:.0f} s (--deadline); raise it, or look at the slowest "
                    "stage of an earlier report",
                    limit));
  }
  return {};
}

}  // namespace stage_model
