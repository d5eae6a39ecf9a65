// Mover: how a move ends, and how it ends early.

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/move/mover.h"

namespace stage_model::move {

// What is outstanding comes back as events that say kStopped.
void Mover::end_fetching() {
  if (fetcher_) stats_.source = fetcher_->counters();
  fetcher_.reset();
}

// This rank cannot go on. It still takes part in every broadcast that was sequenced, or the others
// would wait for ever; what arrives is thrown away.
void Mover::fail_here(const Error& error) {
  if (failed_here_ || stopped_) return;
  failed_here_ = error;
  const cast::Cause cause{error, fabric_.node()};
  if (sequencer_ && !alone_) {
    stop_all(cause);
  } else if (!alone_) {
    control_->send(0, cast::Failed{cause});
  }
  drop_unannounced();
}

void Mover::stop_all(const cast::Cause& cause) {
  // A complete list needs no stop: every rank finishes it, and the end of the move is agreed upon.
  if (!sequencer_->stop()) return;
  flush_entries();
  control_->send_down(cast::Stop{cause});
  on_stop(cause);
}

void Mover::on_stop(const cast::Cause& cause) {
  if (stopped_) return;
  stopped_ = cause;
  drop_unannounced();
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

void Mover::watch() {
  const double quiet = clock_.now() - last_progress_;
  if (quiet < options_.stall_timeout_s) return;
  const Error error{
      ExitCode::kStopped,
      fmt::format("nothing moved on this node for {:.0f} s ({} of {} chunks broadcast)", quiet,
                  posted_, to_move_)};
  if (!failed_here_) {
    fail_here(error);
  } else if (quiet > options_.stall_timeout_s + 15) {
    fabric_.hard_stop(*failed_here_);
  }
}

// Nobody leaves while another rank may still need a message forwarded.
void Mover::leave() {
  end_fetching();
  readers_.reset();
  hashers_.reset();
  if (alone_) return;
  auto pump = [this] {
    control_->poll([this](int from, cast::Message message) {
      // Too late to matter; a failure is agreed upon after this.
      if (std::holds_alternative<cast::Ask>(message)) control_->send(from, cast::Grant{});
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

}  // namespace stage_model::move
