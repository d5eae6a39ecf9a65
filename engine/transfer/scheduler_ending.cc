// Scheduler: how a rank's part ends early.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/transfer/scheduler.h"

namespace stage_model::transfer {

double Scheduler::next_tick() const {
  return finished() ? std::numeric_limits<double>::infinity() : ending_.next_look();
}

// This rank cannot go on. It still takes part in every broadcast that was sequenced, or the others
// would wait for ever; what arrives is thrown away.
void Scheduler::fail_here(const Error& error, double now) {
  if (!ending_.fail(error, now)) return;
  const Cause cause{error, self_.node};
  actions_.emplace_back(action::Finishing{kOrderlyEnd});
  if (!alone_) send_to_zero(message::RankFailed{cause}, now);
  start_nothing_new();
}

// Rank 0.
void Scheduler::end_list(const Cause& cause, double now) {
  // A complete list needs no stop: every rank finishes it, and the end is agreed upon.
  if (!sequencer_->stop()) return;
  flush_entries();
  actions_.emplace_back(action::SendToAll{message::EndOfList{cause}});
  on_end_of_list(cause, now);
}

void Scheduler::on_end_of_list(const Cause& cause, double now) {
  const bool first = ending_.going_on();
  if (!ending_.end_list(cause, now)) return;
  if (first) actions_.emplace_back(action::Finishing{kOrderlyEnd});
  start_nothing_new();
}

void Scheduler::start_nothing_new() {
  end_fetching();
  downloads_.drop();
  broadcasts_.drop_ready();
}

void Scheduler::end_fetching() {
  if (!fetching_ended_) actions_.emplace_back(action::EndFetching{});
  fetching_ended_ = true;
}

// Chunks that were announced but not sequenced before the list ended will never be broadcast.
void Scheduler::settle() {
  if (!ended_by() || settled_) return;
  settled_ = true;
  std::vector<std::uint32_t> never;
  for (auto& [chunk, here] : chunks_.all()) {
    if (!here.ours() || here.fetching || here.hashing || here.posted || broadcasts_.lists(chunk))
      continue;
    here.broadcast_done = true;
    never.push_back(chunk);
  }
  for (const std::uint32_t chunk : never) remove_if_over(chunk);
}

// The other ranks wait for our chunks, and see nothing move.
void Scheduler::tell_source_alive(double now) {
  if (alone_) return;
  if (self_.rank != 0) {
    send_to_zero(message::SourceAlive{}, now);
  } else if (ending_.may_pass_on_life(now)) {
    actions_.emplace_back(action::SendToAll{message::SourceAlive{}});
  }
}

void Scheduler::on(const event::StopRequested& event, double now) {
  ending_.request_stop();
  fail_here(event.error, now);
}

void Scheduler::on(const event::Tick& event, double now) {
  if (ending_.source_moves(event.source_progress, now)) tell_source_alive(now);
  if (ending_.stalled(now)) {
    fail_here({ExitCode::kStopped,
               fmt::format("nothing moved on this node for {:.0f} s ({} of {} chunks broadcast)",
                           ending_.quiet(now), alone_ ? alone_done_ : broadcasts_.passed(),
                           to_broadcast_)},
              now);
  } else if (ending_.stuck(now)) {
    phase_ = Phase::kGivenUp;
    actions_.emplace_back(action::GiveUp{ending_.last_word()});
  }
}

}  // namespace stage_model::transfer
