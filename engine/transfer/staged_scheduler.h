// The schedule of other tools, for honest comparison (--schedule staged): all ranks download their
// shards to disk; when all have, they read them back and broadcast them in the order of the files.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <vector>

#include "engine/transfer/scheduler.h"

namespace stage_model::transfer {

// Two ranks or more: with one it is no other schedule than the sequenced one.
class StagedScheduler : public Scheduler {
 public:
  StagedScheduler(const Self& self, const RankPlan& plan, const SchedulerOptions& options,
                  double now);

 private:
  bool broadcasts_now() const override { return !downloading_; }
  // Rank 0 waits for a certain chunk, which may be any of ours.
  std::size_t announced_at_most() const override { return std::numeric_limits<std::size_t>::max(); }
  std::vector<Entry> next_entries(const Entry& ready) override;
  void written(std::uint32_t chunk) override;
  void on_staged_message(const Message& message) override;
  void before_starting(double now) override;
  void start_broadcasts();

  bool downloading_ = true;                 // the first half
  bool told_ = false;                       // our shard is on disk, and rank 0 knows
  std::vector<std::uint32_t> downloaded_;   // our shard
  std::uint32_t shards_down_ = 0;           // rank 0: of how many ranks
  std::deque<std::uint32_t> order_;         // rank 0: chunks still to come, in order
  std::map<std::uint32_t, Entry> waiting_;  // rank 0: ready before their turn
};

}  // namespace stage_model::transfer
