// Mover: how a move ends, and how it ends early.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "engine/transfer/mover.h"

namespace stage_model::transfer {

namespace {
// What was sequenced is broadcast to the end, but a cancel does not wait for it for long.
constexpr double kOrderlyEnd = 5;  // seconds
// Beyond the stall limit, so that every rank has had its chance to say why; at most that limit
// again.
constexpr double kLastWord = 15;  // seconds
// Looks at the source, and signs of life, per stall limit.
constexpr double kLooks = 16;
}  // namespace

// What is outstanding comes back as events that say kStopped. Not on this thread: a read of a dead
// file server does not come back, and the others have to hear of our end.
void Mover::end_fetching() {
  if (!fetcher_) return;
  stats_.source = fetcher_->counters();
  ending_fetching_ = std::async(std::launch::async,
                                [fetcher = std::move(fetcher_)]() mutable { fetcher.reset(); });
}

// This rank cannot go on. It still takes part in every broadcast that was sequenced, or the others
// would wait for ever; what arrives is thrown away.
void Mover::fail_here(const Error& error) {
  if (failed_here_ || stopped_) return;
  failed_here_ = error;
  over();
  const mpi::Cause cause{error, fabric_.node()};
  if (sequencer_ && !alone_) {
    stop_all(cause);
  } else if (!alone_) {
    control_->send(0, mpi::Failed{cause});
  }
  drop_unannounced();
}

void Mover::stop_all(const mpi::Cause& cause) {
  // A complete list needs no stop: every rank finishes it, and the end of the move is agreed upon.
  if (!sequencer_->stop()) return;
  flush_entries();
  control_->send_down(mpi::Stop{cause});
  on_stop(cause);
}

void Mover::on_stop(const mpi::Cause& cause) {
  if (stopped_) return;
  stopped_ = cause;
  over();
  drop_unannounced();
}

void Mover::over() {
  if (over_since_) return;
  over_since_ = clock_.now();
  fabric_.finishing(kOrderlyEnd);
}

void Mover::drop_unannounced() {
  end_fetching();
  granted_.clear();
  to_read_.clear();
  ready_.clear();
}

// Chunks that were announced but not sequenced before the stop will never be broadcast. Done
// between events, since it removes chunks that an event's handler may be looking at.
void Mover::settle() {
  if (!stopped_ || settled_) return;
  settled_ = true;
  std::vector<std::uint32_t> dropped;
  for (auto& [chunk, work] : work_) {
    if (!work.owner || work.fetches > 0 || work.hashing || work.posted) continue;
    const bool sequenced = std::any_of(order_.begin(), order_.end(),
                                       [&, id = chunk](const auto& e) { return e.chunk == id; });
    if (sequenced) continue;
    work.broadcast_done = true;
    dropped.push_back(chunk);
  }
  for (const std::uint32_t chunk : dropped) finish_if_done(chunk);
}

// A chunk may take minutes on a slow link, and while the source throttles the fetcher waits by
// limits of its own: both are no standstill.
bool Mover::source_moves() {
  if (!fetcher_) return false;
  const source::Counters counters = fetcher_->counters();
  const std::uint64_t seen = counters.bytes + counters.requests;
  return std::exchange(seen_of_source_, seen) != seen;
}

// The other ranks wait for our chunks, and see nothing move.
void Mover::tell_alive() {
  if (alone_) return;
  if (fabric_.rank() != 0) {
    control_->send(0, mpi::Alive{});
  } else if (clock_.now() - told_alive_ >= options_.stall_timeout_s / kLooks) {
    told_alive_ = clock_.now();
    control_->send_down(mpi::Alive{});
  }
}

void Mover::watch() {
  const double now = clock_.now();
  if (now - last_progress_ >= options_.stall_timeout_s / kLooks &&
      now - looked_at_source_ >= options_.stall_timeout_s / kLooks) {
    looked_at_source_ = now;
    if (source_moves()) {
      tell_alive();
      last_progress_ = now;
    }
  }
  const double quiet = now - last_progress_;
  if (quiet < options_.stall_timeout_s) return;
  if (!over_since_) {
    fail_here({ExitCode::kStopped,
               fmt::format("nothing moved on this node for {:.0f} s ({} of {} chunks broadcast)",
                           quiet, posted_, to_move_)});
  } else if (quiet > options_.stall_timeout_s + std::min(kLastWord, options_.stall_timeout_s)) {
    fabric_.hard_stop(last_word());
  }
}

// Another node's failure is named as that, since all that is seen of it may be this.
Error Mover::last_word() const {
  if (failed_here_) return *failed_here_;
  return {stopped_->error.code,
          fmt::format("{} failed ({}), and this node's disk or source did not come back meanwhile",
                      stopped_->node, stopped_->error.message)};
}

// A stop that is asked for (cancel, deadline) while this rank ends already, and does not get there.
void Mover::asked_to_stop(const Error& error) {
  if (!over_since_) {
    fail_here(error);
  } else if (clock_.now() - *over_since_ > kOrderlyEnd) {
    fabric_.hard_stop(last_word());
  }
}

// Nobody leaves while another rank may still need a message forwarded.
void Mover::leave() {
  end_fetching();
  if (ending_fetching_.valid()) {
    fabric_.wait(
        [this] {
          return ending_fetching_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
        },
        "the source to end");
  }
  readers_.reset();
  hashers_.reset();
  if (alone_) return;
  auto pump = [this] {
    control_->poll([this](int from, const mpi::Message& message) {
      // Too late to matter; a failure is agreed upon after this.
      if (std::holds_alternative<mpi::Ask>(message)) control_->send(from, mpi::Grant{});
    });
    return control_->sent();
  };
  fabric_.wait(pump, "the last messages of the move");
  MPI_Request barrier = MPI_REQUEST_NULL;
  MPI_Ibarrier(fabric_.world(), &barrier);
  int done = 0;
  fabric_.wait(
      [&] {
        pump();
        MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
        return done != 0 && control_->sent();
      },
      "the other ranks to end the move");
  if (sequencer_) stats_.taken_over = sequencer_->taken_over();
  stats_.control_messages = control_->messages_sent();
}

}  // namespace stage_model::transfer
