// A byte rate that is kept on average, with little bursts. Not thread-safe. Times are seconds on
// any one monotonic clock.
#pragma once

#include <cstdint>

namespace stage_model::http {

class TokenBucket {
 public:
  // 0: no limit.
  TokenBucket(double bytes_per_second, double now);

  bool unlimited() const { return rate_ <= 0; }
  // May bytes be taken now? Taking may go into debt: the next taker pays it off by waiting.
  bool open(double now);
  void take(std::uint64_t bytes);
  // Seconds until open() says yes; 0 if it does now.
  double wait(double now);

 private:
  void refill(double now);
  double rate_, capacity_, tokens_, last_;
};

}  // namespace stage_model::http
