#include "engine/mpi/sequencer.h"

#include <algorithm>

namespace stage_model::mpi {

Sequencer::Sequencer(const std::vector<std::vector<std::uint32_t>>& shards, std::size_t chunks,
                     bool take_over)
    : chunks_(chunks), take_over_(take_over) {
  left_.reserve(shards.size());
  for (const auto& shard : shards) left_.emplace_back(shard.begin(), shard.end());
}

std::vector<std::uint32_t> Sequencer::grant(std::uint32_t rank, std::uint32_t want) {
  std::vector<std::uint32_t> given;
  while (given.size() < want && !stopped_) {
    if (auto& own = left_[rank]; !own.empty()) {
      given.push_back(own.front());
      own.pop_front();
      continue;
    }
    if (!take_over_) break;
    const auto fullest =
        std::max_element(left_.begin(), left_.end(),
                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (fullest == left_.end() || fullest->empty()) break;
    given.push_back(fullest->back());
    fullest->pop_back();
    ++taken_over_;
  }
  return given;
}

void Sequencer::keep_order(std::vector<std::uint32_t> chunks) {
  order_.assign(chunks.begin(), chunks.end());
}

std::vector<Entry> Sequencer::announce(const Entry& ready) {
  if (stopped_) return {};
  if (order_.empty()) {
    ++sequenced_;
    return {ready};
  }
  waiting_.emplace(ready.chunk, ready);
  std::vector<Entry> next;
  while (!order_.empty()) {
    const auto at = waiting_.find(order_.front());
    if (at == waiting_.end()) break;
    next.push_back(at->second);
    waiting_.erase(at);
    order_.pop_front();
    ++sequenced_;
  }
  return next;
}

bool Sequencer::stop() {
  if (stopped_ || complete()) return false;
  stopped_ = true;
  return true;
}

}  // namespace stage_model::mpi
