#include "engine/transfer/sequencer.h"

#include <algorithm>

namespace stage_model::transfer {

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

bool Sequencer::announce() {
  if (stopped_) return false;
  ++sequenced_;
  return true;
}

bool Sequencer::stop() {
  if (stopped_ || complete()) return false;
  stopped_ = true;
  return true;
}

}  // namespace stage_model::transfer
