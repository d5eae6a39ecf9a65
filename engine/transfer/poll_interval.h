// How long the main thread may sleep between two looks at the broadcasts in flight. MPI forwards a
// broadcast's segments only while it is called, so on a fast fabric sleeping costs bandwidth; on a
// slow one not sleeping costs a core. So: a small part of the time that a chunk takes at the pace
// seen lately. Pure arithmetic; the clock is the caller's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace stage_model::transfer {

class PollInterval {
 public:
  // A broadcast has ended; seconds of any clock.
  void completed(double now) {
    if (last_ >= 0) pace_ = 0.75 * pace_ + 0.25 * (now - last_);
    last_ = now;
  }

  // Zero: look again at once.
  std::chrono::microseconds next() const {
    const auto interval =
        std::chrono::microseconds(static_cast<std::int64_t>(pace_ / kLooksPerChunk * 1e6));
    if (interval < kShortest) return std::chrono::microseconds(0);
    return std::min(interval, kLongest);
  }

 private:
  static constexpr double kLooksPerChunk = 32;
  static constexpr std::chrono::microseconds kShortest{20};  // a timer is not finer than this
  static constexpr std::chrono::microseconds kLongest{1000};

  double pace_ = 100e-6 * kLooksPerChunk;  // seconds between two chunks; first guess
  double last_ = -1;
};

}  // namespace stage_model::transfer
