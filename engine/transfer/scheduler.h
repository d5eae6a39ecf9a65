// What one rank does next: every chunk's life from source (or disk) over broadcast to disk, all at
// once, with bounded memory. A pure state machine: events and the time go in, actions come out. No
// MPI, no thread, no clock, no I/O, nothing random; the driver (driver.h) carries the actions out.
// Why it is as it is: docs/architecture.md, "Why a sequencer".
//
// Its parts, each a concern of its own: chunks_in_memory.h, downloads.h (who downloads what),
// broadcasts.h (the order of the list), ending.h (failing, stalling, stopping), sequencer.h (rank
// 0's list).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/transfer/broadcasts.h"
#include "engine/transfer/chunks_in_memory.h"
#include "engine/transfer/downloads.h"
#include "engine/transfer/ending.h"
#include "engine/transfer/events_and_actions.h"
#include "engine/transfer/options.h"
#include "engine/transfer/sequencer.h"
#include "stage_model/result.h"

namespace stage_model::transfer {

// What a rank is to do. All but `held`, `downloads` and `writes` is the same on every rank;
// everything outlives who works on it.
struct RankPlan {
  const plan::Listing& listing;
  const plan::Layout& layout;
  const plan::Assignment& assignment;
  const plan::Bits& held;  // chunks that this rank has on disk already
  bool downloads = true;   // does this rank download
  bool writes = true;      // false: everything is in place here, this rank only sends
};

struct Self {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::string node;  // its name, for messages
};

// Times are seconds of any one clock of this rank's. One thread.
class Scheduler {
 public:
  Scheduler(const Self& self, const RankPlan& plan, const SchedulerOptions& options, double now);
  virtual ~Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Takes an event in.
  void handle(Event event, double now);
  // Appends what is to be done now, to be begun in that order. After one or several events; first
  // before any. Several at once make fewer messages.
  void decide(double now, std::vector<Action>& actions);

  // When a Tick is due, unless something happens before; infinity: none is.
  double next_tick() const;

  // Leave or GiveUp was given out: only messages of the others are of interest.
  bool finished() const { return phase_ == Phase::kLeaving || phase_ == Phase::kGivenUp; }
  // Why this rank failed by itself, if it did.
  const std::optional<Error>& failure() const { return ending_.failure(); }
  // Why rank 0 ended the list, if it did: the same on every rank.
  const std::optional<Cause>& ended_by() const { return ending_.ended_by(); }
  // Rank 0: chunks that changed owner.
  std::uint64_t taken_over() const { return sequencer_ ? sequencer_->taken_over() : 0; }

  // ---- to look at, in tests

  const ChunksInMemory& chunks() const { return chunks_; }
  const Downloads& downloads() const { return downloads_; }
  const Broadcasts& broadcasts() const { return broadcasts_; }
  const std::optional<Sequencer>& sequencer() const { return sequencer_; }  // rank 0
  // Entries that the list will have, if nothing fails.
  std::size_t to_broadcast() const { return to_broadcast_; }

 protected:
  // ---- where the staged schedule differs (staged_scheduler.h)

  // Are chunks broadcast as soon as they are in memory?
  virtual bool broadcasts_now() const { return !alone_; }
  virtual std::size_t announced_at_most() const { return options_.per_root; }
  // Rank 0: the entries that come next because this chunk is ready.
  virtual std::vector<Entry> next_entries(const Entry& ready) { return {ready}; }
  virtual void written(std::uint32_t /*chunk*/) {}
  virtual void on_staged_message(const Message& /*message*/) {}
  virtual void before_starting(double /*now*/) {}

  void send_to_zero(Message message, double now);

  const Self self_;
  const RankPlan plan_;
  const SchedulerOptions options_;
  const bool alone_;  // one rank: nothing to broadcast
  ChunksInMemory chunks_;
  Downloads downloads_;
  Broadcasts broadcasts_;
  Ending ending_;
  std::optional<Sequencer> sequencer_;
  std::vector<Action> actions_;  // decided already, not given out

 private:
  enum class Phase : std::uint8_t { kMoving, kLeaving, kGivenUp };

  void on(const event::Fetched& event, double now);
  void on(const event::Hashed& event, double now);
  void on(const event::Written& event, double now);
  void on(const event::BroadcastDone& event, double now);
  void on(const event::Received& event, double now);
  void on(const event::Failed& event, double now);
  void on(const event::StopRequested& event, double now);
  void on(const event::Tick& event, double now);
  void on_message(std::uint32_t from, const Message& message, double now);

  bool has_enough() const;
  void request_chunks(double now);
  void start_chunks(double now);
  void hash(std::uint32_t chunk, ChunkInMemory& here, action::Hash::From from);
  void store(std::uint32_t chunk, ChunkInMemory& here);
  void remove_if_over(std::uint32_t chunk);
  void announce(double now);
  void sequence(const Entry& ready);
  void flush_entries();
  void post_broadcasts();
  bool takes_part(std::uint32_t audience) const;
  void fail_here(const Error& error, double now);
  void end_list(const Cause& cause, double now);
  void on_end_of_list(const Cause& cause, double now);
  void start_nothing_new();
  void end_fetching();
  void settle();
  void tell_source_alive(double now);
  bool done() const;

  Phase phase_ = Phase::kMoving;
  std::vector<bool> takes_part_;  // audience → is this rank in it
  std::vector<Entry> unsent_;     // rank 0: entries of this round
  std::size_t to_broadcast_ = 0;
  std::size_t alone_done_ = 0;  // alone: chunks finished
  bool fetching_ended_ = false;
  bool settled_ = false;
};

}  // namespace stage_model::transfer
