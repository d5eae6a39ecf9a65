// How many chunks a rank fetches at once. A fast source wants many requests in flight; a slow rank
// must not sit on chunks that others could fetch. So: what this rank gets done in a quarter of a
// second at the rate seen lately, at least two chunks, or one where it takes seconds: the last ones
// of a slow rank are what all wait for. Pure arithmetic; the clock is the caller's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace stage_model::transfer {

class FetchWindow {
 public:
  explicit FetchWindow(std::size_t most) : most_(most < 1 ? 1 : most) {}

  // A fetch of `bytes` that began at `start` and ended at `end`, in seconds of any clock.
  void fetched(double start, double end, std::uint64_t bytes) {
    recent_.push_back({start, end, bytes});
    if (recent_.size() > kRemembered) recent_.pop_front();
  }

  std::size_t chunks(std::uint64_t chunk_size) const {
    const double chunks_per_s = rate() / static_cast<double>(chunk_size < 1 ? 1 : chunk_size);
    const bool slow = chunks_per_s > 0 && chunks_per_s < kSlow;
    const double wanted = std::max(chunks_per_s * kSeconds, slow ? 1.0 : 2.0);
    return std::min(static_cast<std::size_t>(wanted), most_);
  }

 private:
  static constexpr double kSeconds = 0.25;
  static constexpr double kSlow = 0.5;  // chunks per second
  static constexpr std::size_t kRemembered = 16;

  struct Fetched {
    double start, end;
    std::uint64_t bytes;
  };

  // Bytes per second from the first start to the last end remembered. Not between ends: fetches
  // that share a wire end together, which would look like any rate at all.
  double rate() const {
    if (recent_.empty()) return 0;
    double bytes = 0;
    double start = recent_.front().start;
    for (const Fetched& fetched : recent_) {
      bytes += static_cast<double>(fetched.bytes);
      start = std::min(start, fetched.start);
    }
    const double seconds = recent_.back().end - start;
    return seconds > 0 ? bytes / seconds : 1e18;
  }

  std::size_t most_;
  std::deque<Fetched> recent_;
};

}  // namespace stage_model::transfer
