// A byte rate that is kept on average, with little bursts. Thread-safe. Times are seconds on
// any one monotonic clock.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/base/mutex.h"

namespace stage_model::http {

class TokenBucket {
 public:
  // 0: no limit.
  TokenBucket(double bytes_per_second, double now);

  bool unlimited() const { return rate_ <= 0; }
  // May bytes be taken now? Taking may go into debt: the next taker pays it off by waiting.
  bool open(double now);
  void take(std::uint64_t bytes);
  std::uint64_t total() const { return total_; }  // all that was taken, limit or none
  // Seconds until open() says yes; 0 if it does now.
  double wait(double now);

 private:
  void refill(double now) STAGE_REQUIRES(mutex_);
  const double rate_, capacity_;
  std::atomic<std::uint64_t> total_{0};
  Mutex mutex_;
  double tokens_ STAGE_GUARDED_BY(mutex_);
  double last_ STAGE_GUARDED_BY(mutex_);
};

}  // namespace stage_model::http
