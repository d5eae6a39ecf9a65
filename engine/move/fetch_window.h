// How many chunks a rank fetches at once. A fast source wants many requests in flight; a slow rank
// must not sit on chunks that others could fetch. So: what this rank gets done in a quarter of a
// second at the rate seen lately, at least two chunks. Pure arithmetic; the clock is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace stage_model::move {

class FetchWindow {
 public:
  explicit FetchWindow(std::size_t most) : most_(most < 1 ? 1 : most) {}

  void fetched(double now, std::uint64_t bytes) {
    recent_.emplace_back(now, bytes);
    if (recent_.size() > kRemembered) recent_.pop_front();
  }

  std::size_t chunks(std::uint64_t chunk_size) const {
    const double wanted = rate() * kSeconds / static_cast<double>(chunk_size < 1 ? 1 : chunk_size);
    const std::size_t window = wanted > kLeast ? static_cast<std::size_t>(wanted) : kLeast;
    return window < most_ ? window : most_;
  }

 private:
  static constexpr double kSeconds = 0.25;
  static constexpr std::size_t kLeast = 2;
  static constexpr std::size_t kRemembered = 16;

  // Bytes per second between the first and the last completion remembered.
  double rate() const {
    if (recent_.size() < 2) return 0;
    double bytes = 0;
    for (std::size_t i = 1; i < recent_.size(); ++i)
      bytes += static_cast<double>(recent_[i].second);
    const double seconds = recent_.back().first - recent_.front().first;
    return seconds > 0 ? bytes / seconds : 1e18;
  }

  std::size_t most_;
  std::deque<std::pair<double, std::uint64_t>> recent_;
};

}  // namespace stage_model::move
