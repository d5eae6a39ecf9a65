#include "tests/simulation/ranks/source.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stage_model::simulation {

VirtualSource::VirtualSource(VirtualTime& time, const SourceModel& model, OnEnd on_end)
    : time_(time),
      model_(model),
      on_end_(std::move(on_end)),
      ranks_(model.link.size()),
      by_link_(model.link.size()) {
  std::iota(by_link_.begin(), by_link_.end(), 0);
  std::stable_sort(by_link_.begin(), by_link_.end(),
                   [&](auto a, auto b) { return model_.link[a] < model_.link[b]; });
}

void VirtualSource::start(std::uint32_t rank, std::uint32_t chunk, std::uint64_t bytes) {
  advance();
  ranks_[rank].ends.emplace(ranks_[rank].got + static_cast<double>(bytes), chunk);
  share();
}

void VirtualSource::stop(std::uint32_t rank) {
  advance();
  ranks_[rank].ends.clear();
  share();
}

std::uint64_t VirtualSource::progress(std::uint32_t rank) const {
  const double since = to_seconds(time_.now() - advanced_);
  return static_cast<std::uint64_t>(ranks_[rank].got + ranks_[rank].rate * since);
}

void VirtualSource::advance() {
  const double seconds = to_seconds(time_.now() - advanced_);
  for (Rank& rank : ranks_) rank.got += rank.rate * seconds;
  advanced_ = time_.now();
}

void VirtualSource::share() {
  std::size_t busy = 0;
  for (const Rank& rank : ranks_) busy += rank.ends.empty() ? 0 : 1;
  double left = model_.egress;
  for (const std::uint32_t number : by_link_) {
    Rank& rank = ranks_[number];
    rank.rate = 0;
    if (rank.ends.empty()) continue;
    const double rate = std::min(model_.link[number], left / static_cast<double>(busy--));
    left -= rate;
    rank.rate = rate / static_cast<double>(rank.ends.size());
  }
  wake();
}

void VirtualSource::wake() {
  double soonest = -1;
  for (const Rank& rank : ranks_) {
    if (rank.ends.empty()) continue;
    const double seconds = std::max(0.0, rank.ends.begin()->first - rank.got) / rank.rate;
    if (soonest < 0 || seconds < soonest) soonest = seconds;
  }
  const std::uint64_t mine = ++generation_;
  if (soonest < 0) return;
  time_.after(from_seconds(soonest) + 1, [this, mine] {
    if (mine != generation_) return;
    advance();
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ended;
    for (std::uint32_t number = 0; number < ranks_.size(); ++number) {
      Rank& rank = ranks_[number];
      // Half a byte: what rounding leaves.
      while (!rank.ends.empty() && rank.ends.begin()->first <= rank.got + 0.5) {
        ended.emplace_back(number, rank.ends.begin()->second);
        rank.ends.erase(rank.ends.begin());
      }
    }
    share();
    for (const auto& [rank, chunk] : ended) on_end_(rank, chunk);
  });
}

}  // namespace stage_model::simulation
