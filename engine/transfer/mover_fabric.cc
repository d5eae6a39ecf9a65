// Mover: entries, broadcasts and messages between the ranks.

#include <algorithm>
#include <utility>

#include "engine/transfer/mover.h"

namespace stage_model::transfer {

// A root with many broadcasts under way sends them side by side: none ends until all do, and the
// last ranks of the chain get their first bytes late. So few at a time; the others wait in memory.
// Not in the staged schedule, where rank 0 waits for a certain chunk, which may be any of ours.
void Mover::announce_ready() {
  const bool any = options_.schedule == Schedule::kStaged;
  while (!ready_.empty() && (any || announced_ < options_.per_root) && !failed_here_ && !stopped_) {
    const std::uint32_t chunk = ready_.front();
    ready_.pop_front();
    ++announced_;
    const Work& work = work_.at(chunk);
    const mpi::Entry entry{
        chunk, static_cast<std::uint32_t>(fabric_.rank()), {work.check[0], work.check[1]}};
    if (sequencer_) {
      sequence(entry);
    } else {
      control_->send(0, mpi::Ready{entry});
    }
  }
}

void Mover::sequence(const mpi::Entry& ready) {
  for (const mpi::Entry& entry : sequencer_->announce(ready)) {
    unsent_.push_back(entry);
    on_entry(entry);
  }
}

void Mover::flush_entries() {
  if (unsent_.empty()) return;
  control_->send_down(mpi::Entries{std::exchange(unsent_, {})});
}

void Mover::on_entry(const mpi::Entry& entry) { order_.push_back(entry); }

bool Mover::post_broadcasts() {
  bool did = false;
  const auto me = static_cast<std::uint32_t>(fabric_.rank());
  while (!order_.empty() && lanes_->in_flight() < options_.pipeline) {
    const mpi::Entry& entry = order_.front();
    const std::uint32_t audience = job_.assignment.audience[entry.chunk];
    if (!lanes_->takes_part(audience)) {
      ++posted_;
      order_.pop_front();
      did = true;
      continue;
    }
    std::byte* buffer = nullptr;
    if (entry.root == me) {
      Work& work = work_.at(entry.chunk);
      trace(report::Trace::Stage::kWait, entry.chunk, work.times.ready);
      work.posted = true;
      work.times.bcast = clock_.now();
      buffer = work.buffer;
    } else {
      if (receive_->empty()) break;
      buffer = receive_->acquire();
      Work& work = work_[entry.chunk];
      work.buffer = buffer;
      work.times.bcast = clock_.now();
      std::copy(std::begin(entry.check), std::end(entry.check), work.check);
    }
    stats_.bcast.start(clock_.now());
    lanes_->post(posted_, audience, entry.root, buffer, job_.layout.chunks[entry.chunk].length,
                 entry.chunk);
    ++posted_;
    order_.pop_front();
    did = true;
  }
  return did;
}

void Mover::on_broadcast(std::uint32_t chunk) {
  Work& work = work_.at(chunk);
  work.broadcast_done = true;
  nap_.completed(clock_.now());
  stats_.bcast.stop(clock_.now(), job_.layout.chunks[chunk].bytes);
  trace(report::Trace::Stage::kBcast, chunk, work.times.bcast);
  if (work.owner) {
    --announced_;
    finish_if_done(chunk);
  } else if (failed_here_ || stopped_ || job_.held.test(chunk) || !job_.write) {
    // Taken along only because a broadcast needs every rank.
    work.stored = true;
    finish_if_done(chunk);
  } else {
    hash(chunk, work);
  }
}

void Mover::on_message(int from, mpi::Message message) {
  if (const auto* ask = std::get_if<mpi::Ask>(&message)) {
    mpi::Grant grant;
    grant.chunks = sequencer_->grant(static_cast<std::uint32_t>(from), ask->want);
    grant.asked = ask->want;
    if (from == 0) {
      on_message(0, std::move(grant));
    } else {
      control_->send(from, grant);
    }
  } else if (auto* grant = std::get_if<mpi::Grant>(&message)) {
    asked_ -= grant->asked;
    granted_.insert(granted_.end(), grant->chunks.begin(), grant->chunks.end());
    if (grant->chunks.size() < grant->asked) no_more_ = true;
  } else if (const auto* ready = std::get_if<mpi::Ready>(&message)) {
    sequence(ready->entry);
  } else if (const auto* failed = std::get_if<mpi::Failed>(&message)) {
    stop_all(failed->cause);
  } else if (const auto* entries = std::get_if<mpi::Entries>(&message)) {
    for (const mpi::Entry& entry : entries->entries) on_entry(entry);
  } else if (const auto* stop = std::get_if<mpi::Stop>(&message)) {
    on_stop(stop->cause);
  } else if (std::holds_alternative<mpi::Downloaded>(message)) {
    if (++shards_down_ < fabric_.size()) return;
    control_->send_down(mpi::Go{});
    start_broadcasts();
  } else if (std::holds_alternative<mpi::Go>(message)) {
    start_broadcasts();
  } else if (std::holds_alternative<mpi::Alive>(message)) {
    if (fabric_.rank() == 0) tell_alive();
  }
}

}  // namespace stage_model::transfer
