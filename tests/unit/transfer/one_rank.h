// One rank's scheduler, told by hand what happens; what it wants done is looked at by kind.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/transfer/scheduler.h"
#include "engine/transfer/staged_scheduler.h"

namespace stage_model::transfer {

class OneRank {
 public:
  // Chunks of one object each; who downloads them is `shards`.
  OneRank(std::uint32_t rank, std::vector<std::vector<std::uint32_t>> shards) : rank_(rank) {
    assignment.shards = std::move(shards);
    assignment.resends.resize(assignment.shards.size());
    std::size_t chunks = 0;
    for (const auto& shard : assignment.shards) chunks += shard.size();
    cut(chunks);
  }
  // More chunks than are downloaded.
  void cut(std::size_t chunks) {
    for (std::size_t i = layout.chunks.size(); i < chunks; ++i) {
      const auto number = static_cast<std::uint32_t>(i);
      listing.objects.push_back({std::to_string(i), "", kSize, "", {}});
      layout.extents.push_back({number, 0, kSize, 0});
      layout.chunks.push_back({number, 1, kSize, kSize});
    }
    assignment.audience.resize(chunks, plan::Assignment::kEveryone);
    std::vector<std::uint64_t> words = held.words();
    held = plan::Bits(chunks);
    std::copy(words.begin(), words.end(), held.words().begin());
  }

  // Begins; settings are made before.
  OneRank& start() { return begin<Scheduler>(); }
  OneRank& start_staged() { return begin<StagedScheduler>(); }

  // Tells it, and sees what it decides. Several at once: more_soon.
  OneRank& tell(Event event, bool more_soon = false) {
    scheduler->handle(std::move(event), now);
    if (!more_soon) decide();
    return *this;
  }
  OneRank& receive(Message message, std::uint32_t from = 0, bool more_soon = false) {
    return tell(event::Received{from, std::move(message)}, more_soon);
  }
  OneRank& grant(std::vector<std::uint32_t> chunks, std::uint32_t requested) {
    return receive(message::GrantChunks{std::move(chunks), requested});
  }
  OneRank& list(std::vector<Entry> entries) {
    return receive(message::NextBroadcasts{std::move(entries)});
  }
  OneRank& fetched(std::uint32_t chunk) { return tell(event::Fetched{chunk, {}}); }
  OneRank& hashed(std::uint32_t chunk) { return tell(event::Hashed{chunk, {}, check(chunk)}); }
  OneRank& written(std::uint32_t chunk) { return tell(event::Written{chunk, {}}); }
  OneRank& broadcast_done(std::uint32_t chunk) { return tell(event::BroadcastDone{chunk}); }
  OneRank& tick(double seconds, std::uint64_t source = 0) {
    now = seconds;
    return tell(event::Tick{source});
  }

  static std::array<std::uint64_t, 2> check(std::uint32_t chunk) { return {chunk, 7}; }
  static Entry entry(std::uint32_t chunk, std::uint32_t root) {
    return {chunk, root, check(chunk)};
  }
  static Error error() { return {ExitCode::kTransfer, "broken"}; }

  // Of the last decisions.
  template <class T>
  std::vector<T> actions() const {
    std::vector<T> found;
    for (const Action& action : decided) {
      if (const auto* match = std::get_if<T>(&action)) found.push_back(*match);
    }
    return found;
  }
  // The chunks of the last Fetch, Read, Hash, Write or Broadcast actions.
  template <class T>
  std::vector<std::uint32_t> chunks() const {
    std::vector<std::uint32_t> found;
    for (const T& action : actions<T>()) found.push_back(action.chunk);
    return found;
  }
  // Messages of the last decisions: to one, to all.
  template <class T>
  std::vector<T> sent() const {
    return messages<T, action::Send>();
  }
  template <class T>
  std::vector<T> sent_to_all() const {
    return messages<T, action::SendToAll>();
  }
  bool left() const { return !actions<action::Leave>().empty(); }
  std::size_t free(Pool pool) const { return scheduler->chunks().available(pool); }

  plan::Listing listing;
  plan::Layout layout;
  plan::Assignment assignment;
  plan::Bits held;
  SchedulerOptions options;
  bool downloads = true, writes = true;
  double now = 0;
  std::unique_ptr<Scheduler> scheduler;
  std::vector<Action> decided;

 private:
  static constexpr std::uint64_t kSize = 4096;

  template <class T>
  OneRank& begin() {
    options.chunk_size = kSize;
    const auto ranks = static_cast<std::uint32_t>(assignment.shards.size());
    scheduler = std::make_unique<T>(Self{rank_, ranks, "n" + std::to_string(rank_)},
                                    RankPlan{listing, layout, assignment, held, downloads, writes},
                                    options, now);
    decide();
    return *this;
  }
  void decide() {
    decided.clear();
    scheduler->decide(now, decided);
  }
  template <class T, class A>
  std::vector<T> messages() const {
    std::vector<T> found;
    for (const A& action : actions<A>()) {
      if (const auto* match = std::get_if<T>(&action.message)) found.push_back(*match);
    }
    return found;
  }

  std::uint32_t rank_;
};

}  // namespace stage_model::transfer
