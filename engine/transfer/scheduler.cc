#include "engine/transfer/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/plan/names.h"

namespace stage_model::transfer {

Scheduler::Scheduler(const Self& self, const RankPlan& plan, const SchedulerOptions& options,
                     double now)
    : self_(self),
      plan_(plan),
      options_(options),
      alone_(self.ranks == 1),
      chunks_(options.download_buffers, self.ranks == 1 ? 0 : options.receive_buffers),
      downloads_(options, plan.assignment.resends[self.rank], plan.downloads),
      ending_(options.stall_timeout_s, now) {
  for (std::size_t rank = 0; rank < plan.assignment.shards.size(); ++rank) {
    to_broadcast_ += plan.assignment.shards[rank].size() + plan.assignment.resends[rank].size();
  }
  for (const auto& ranks : plan.assignment.audiences) {
    takes_part_.push_back(std::binary_search(ranks.begin(), ranks.end(), self.rank));
  }
  if (self.rank == 0) {
    sequencer_.emplace(plan.assignment.shards, to_broadcast_, options.take_over);
  }
}

// ---- events

void Scheduler::handle(Event event, double now) {
  if (phase_ == Phase::kGivenUp) return;
  if (phase_ == Phase::kLeaving) {
    // Too late to matter; a failure is agreed upon after this.
    const auto* received = std::get_if<event::Received>(&event);
    if (received != nullptr && std::holds_alternative<message::RequestChunks>(received->message)) {
      actions_.emplace_back(action::Send{received->from, message::GrantChunks{}});
    }
    return;
  }
  std::visit([&](const auto& e) { on(e, now); }, event);
  // That time passes is no progress of this rank's, nor that the others end too.
  const bool moved = std::holds_alternative<event::Received>(event)
                         ? ending_.going_on()
                         : !std::holds_alternative<event::Tick>(event) &&
                               !std::holds_alternative<event::StopRequested>(event);
  if (moved) ending_.moved(now);
}

void Scheduler::on(const event::Received& event, double now) {
  on_message(event.from, event.message, now);
}

void Scheduler::on(const event::Failed& event, double now) { fail_here(event.error, now); }

void Scheduler::on_message(std::uint32_t from, const Message& message, double now) {
  if (const auto* request = std::get_if<message::RequestChunks>(&message)) {
    message::GrantChunks grant{sequencer_->grant(from, request->count), request->count};
    if (from == self_.rank) {
      on_message(from, grant, now);
    } else {
      actions_.emplace_back(action::Send{from, std::move(grant)});
    }
  } else if (const auto* grant = std::get_if<message::GrantChunks>(&message)) {
    downloads_.granted(grant->chunks, grant->requested);
  } else if (const auto* ready = std::get_if<message::ChunkReady>(&message)) {
    sequence(ready->entry);
  } else if (const auto* next = std::get_if<message::NextBroadcasts>(&message)) {
    for (const Entry& entry : next->entries) broadcasts_.append(entry);
  } else if (const auto* failed = std::get_if<message::RankFailed>(&message)) {
    end_list(failed->cause, now);
  } else if (const auto* end = std::get_if<message::EndOfList>(&message)) {
    on_end_of_list(end->cause, now);
  } else if (std::holds_alternative<message::SourceAlive>(message)) {
    if (self_.rank == 0) tell_source_alive(now);
  } else {
    on_staged_message(message);
  }
}

void Scheduler::send_to_zero(Message message, double now) {
  if (self_.rank == 0) {
    on_message(0, message, now);
  } else {
    actions_.emplace_back(action::Send{0, std::move(message)});
  }
}

// ---- what now

void Scheduler::decide(double now, std::vector<Action>& actions) {
  if (phase_ == Phase::kMoving) {
    announce(now);
    request_chunks(now);
    before_starting(now);
    start_chunks(now);
    flush_entries();
    post_broadcasts();
    settle();
    if (done()) {
      phase_ = Phase::kLeaving;
      end_fetching();
      actions_.emplace_back(action::Leave{});
    }
  }
  std::move(actions_.begin(), actions_.end(), std::back_inserter(actions));
  actions_.clear();
}

bool Scheduler::done() const {
  if (!chunks_.empty()) return false;
  if (ended_by()) return !broadcasts_.waiting();
  if (!alone_) return broadcasts_.passed() == to_broadcast_;
  return failure() || alone_done_ == to_broadcast_;
}

// ---- a chunk into memory, hashed, onto the disk

// Who has this much waiting for its broadcast gains nothing from more, and what it took over from
// slower ones it would have to send alone at the end: with a shared egress one rank of 16 got a
// quarter of the chunks, and the last ones filled no chain (1.18 × the bound, not 1.11).
bool Scheduler::has_enough() const {
  constexpr std::size_t kLeast = 8;
  return broadcasts_.ready_count() >= std::max(kLeast, 4 * options_.per_root);
}

void Scheduler::request_chunks(double now) {
  if (!ending_.going_on() || has_enough()) return;
  if (const std::uint32_t count = downloads_.request(); count > 0)
    send_to_zero(message::RequestChunks{count}, now);
}

void Scheduler::start_chunks(double now) {
  while (ending_.going_on() && chunks_.room(Pool::kDownload)) {
    const auto next = downloads_.next();
    if (!next) return;
    ChunkInMemory& here = chunks_.add(next->chunk, Pool::kDownload);
    here.fetching = true;
    here.from_disk = next->from_disk;
    here.began = now;
    if (next->from_disk) {
      actions_.emplace_back(action::Read{next->chunk, here.buffer});
    } else {
      actions_.emplace_back(action::Fetch{next->chunk, here.buffer});
    }
  }
}

void Scheduler::on(const event::Fetched& event, double now) {
  ChunkInMemory& here = chunks_.at(event.chunk);
  here.fetching = false;
  downloads_.ended(here.from_disk, here.began, now, plan_.layout.chunks[event.chunk].bytes);
  if (!event.status) fail_here(event.status.error(), now);
  if (!ending_.going_on()) return chunks_.remove(event.chunk);
  hash(event.chunk, here, here.from_disk ? action::Hash::From::kDisk : action::Hash::From::kSource);
}

void Scheduler::hash(std::uint32_t chunk, ChunkInMemory& here, action::Hash::From from) {
  here.hashing = true;
  actions_.emplace_back(action::Hash{chunk, here.buffer, from});
}

void Scheduler::on(const event::Hashed& event, double now) {
  ChunkInMemory& here = chunks_.at(event.chunk);
  here.hashing = false;
  if (!event.status) fail_here(event.status.error(), now);
  if (here.ours()) {
    // Not announced yet, so nobody waits for it.
    if (!ending_.going_on()) return chunks_.remove(event.chunk);
    here.check = event.check;
    here.broadcast_done = !broadcasts_now();
    if (!here.broadcast_done) broadcasts_.ready(event.chunk);
  } else if (event.check != here.check) {
    const plan::Extent& extent =
        plan_.layout.extents[plan_.layout.chunks[event.chunk].first_extent];
    fail_here({ExitCode::kIntegrity,
               fmt::format("a chunk with {} arrived with other bytes than were sent; check this "
                           "node's network and memory",
                           plan::printable(plan_.listing.objects[extent.object].name))},
              now);
  }
  store(event.chunk, here);
}

void Scheduler::store(std::uint32_t chunk, ChunkInMemory& here) {
  here.stored = true;
  here.writing = ending_.going_on() && plan_.writes && !here.from_disk;
  if (here.writing) actions_.emplace_back(action::Write{chunk, here.buffer});
  remove_if_over(chunk);
}

void Scheduler::on(const event::Written& event, double now) {
  chunks_.at(event.chunk).writing = false;
  if (event.status) {
    written(event.chunk);
  } else {
    fail_here(event.status.error(), now);
  }
  remove_if_over(event.chunk);
}

void Scheduler::remove_if_over(std::uint32_t chunk) {
  if (!chunks_.at(chunk).over()) return;
  chunks_.remove(chunk);
  if (alone_) ++alone_done_;
}

// ---- the list, and its broadcasts

void Scheduler::announce(double now) {
  while (ending_.going_on() && broadcasts_.may_announce(announced_at_most())) {
    const std::uint32_t chunk = broadcasts_.announce();
    send_to_zero(message::ChunkReady{{chunk, self_.rank, chunks_.at(chunk).check}}, now);
  }
}

void Scheduler::sequence(const Entry& ready) {
  for (const Entry& entry : next_entries(ready)) {
    if (!sequencer_->announce()) return;
    unsent_.push_back(entry);
    broadcasts_.append(entry);
  }
}

void Scheduler::flush_entries() {
  if (unsent_.empty()) return;
  actions_.emplace_back(action::SendToAll{message::NextBroadcasts{std::exchange(unsent_, {})}});
}

bool Scheduler::takes_part(std::uint32_t audience) const {
  return audience == plan::Assignment::kEveryone || takes_part_[audience];
}

void Scheduler::post_broadcasts() {
  while (broadcasts_.waiting() && broadcasts_.in_flight() < options_.pipeline) {
    const Entry entry = broadcasts_.next();
    const std::uint32_t audience = plan_.assignment.audience[entry.chunk];
    if (!takes_part(audience)) {
      broadcasts_.skip();
      continue;
    }
    const bool ours = entry.root == self_.rank;
    if (!ours && !chunks_.room(Pool::kReceive)) return;
    ChunkInMemory& here = ours ? chunks_.at(entry.chunk) : chunks_.add(entry.chunk, Pool::kReceive);
    here.posted = true;
    here.check = entry.check;
    actions_.emplace_back(
        action::Broadcast{broadcasts_.post(), entry.chunk, entry.root, audience, here.buffer});
  }
}

void Scheduler::on(const event::BroadcastDone& event, double) {
  ChunkInMemory& here = chunks_.at(event.chunk);
  here.broadcast_done = true;
  broadcasts_.done(here.ours());
  if (here.ours()) return remove_if_over(event.chunk);
  if (ending_.going_on() && plan_.writes && !plan_.held.test(event.chunk)) {
    hash(event.chunk, here, action::Hash::From::kBroadcast);
  } else {
    // Taken along only because a broadcast needs every rank.
    here.stored = true;
    remove_if_over(event.chunk);
  }
}

}  // namespace stage_model::transfer
