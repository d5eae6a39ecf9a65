#include "engine/transfer/staged_scheduler.h"

#include <algorithm>

namespace stage_model::transfer {
namespace {

SchedulerOptions without_taking_over(SchedulerOptions options) {
  options.take_over = false;
  return options;
}

}  // namespace

StagedScheduler::StagedScheduler(const Self& self, const RankPlan& plan,
                                 const SchedulerOptions& options, double now)
    : Scheduler(self, plan, without_taking_over(options), now) {
  downloads_.hold_reads(true);
  if (self.rank != 0) return;
  for (std::size_t rank = 0; rank < plan.assignment.shards.size(); ++rank) {
    for (const auto* part : {&plan.assignment.shards[rank], &plan.assignment.resends[rank]}) {
      order_.insert(order_.end(), part->begin(), part->end());
    }
  }
  std::sort(order_.begin(), order_.end());  // the layout numbers them file by file
}

std::vector<Entry> StagedScheduler::next_entries(const Entry& ready) {
  waiting_.emplace(ready.chunk, ready);
  std::vector<Entry> next;
  while (!order_.empty()) {
    const auto at = waiting_.find(order_.front());
    if (at == waiting_.end()) break;
    next.push_back(at->second);
    waiting_.erase(at);
    order_.pop_front();
  }
  return next;
}

void StagedScheduler::written(std::uint32_t chunk) {
  if (downloading_) downloaded_.push_back(chunk);
}

// The barrier between downloading and broadcasting, by messages: a rank that fails must not leave
// the others inside a collective.
void StagedScheduler::before_starting(double now) {
  if (!downloading_ || told_ || !downloads_.all_started() || !chunks_.empty()) return;
  told_ = true;
  send_to_zero(message::ShardOnDisk{}, now);
}

void StagedScheduler::on_staged_message(const Message& message) {
  if (std::holds_alternative<message::ShardOnDisk>(message)) {
    if (++shards_down_ < self_.ranks) return;
    actions_.emplace_back(action::SendToAll{message::StartBroadcasts{}});
    start_broadcasts();
  } else if (std::holds_alternative<message::StartBroadcasts>(message)) {
    start_broadcasts();
  }
}

void StagedScheduler::start_broadcasts() {
  downloading_ = false;
  downloads_.read_too(downloaded_);
  downloads_.hold_reads(false);
}

}  // namespace stage_model::transfer
