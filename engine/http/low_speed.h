// Recognises a transfer that stalls or trickles: fewer than `bytes` over a sliding window. A byte
// now and then does not reset it, and a slow but steady transfer passes. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>

namespace stage_model::http {

class LowSpeed {
 public:
  LowSpeed(double window_s, std::uint64_t bytes, double now);

  // `total`: bytes received so far. True once the last window had too few.
  bool stalled(double now, std::uint64_t total);
  // Starts over: the time until now was not the server's fault (connecting, our own rate limit).
  void restart(double now, std::uint64_t total);

 private:
  struct Sample {
    double at;
    std::uint64_t total;
  };
  double window_;
  std::uint64_t bytes_;
  std::deque<Sample> samples_;  // oldest first; at most kSamples + 1
};

}  // namespace stage_model::http
