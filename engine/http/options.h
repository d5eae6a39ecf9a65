// How transfers behave, and what they counted.
#pragma once

#include <cstdint>

namespace stage_model::http {

struct Options {
  unsigned concurrency = 16;       // requests in flight; throttling lowers it for a while
  unsigned threads = 1;            // that receive and decrypt; the limits are for all together
  unsigned max_retries = 8;        // per request, without those that made progress
  double low_speed_window_s = 20;  // slower than low_speed_bytes over it: restarted
  std::uint64_t low_speed_bytes = 64 << 10;
  double connect_timeout_s = 20;   // name, TCP, TLS
  double deadline_s = 0;           // from the client's construction; 0: none
  double max_bandwidth = 0;        // body bytes/s of ranged GETs; 0: no limit
  double throttle_budget_s = 300;  // a request that meets nothing but throttling this long fails
  double backoff_first_s = 0.25;   // doubles up to backoff_max_s, with jitter
  double backoff_max_s = 30;
};

// Monotonic, and up to date while requests are under way.
struct Counters {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;  // body bytes of ranged GETs, retries included
  std::uint64_t retries_throttle = 0;
  std::uint64_t retries_server = 0;
  std::uint64_t retries_reset = 0;
  std::uint64_t retries_stall = 0;
  std::uint64_t retries_short = 0;
};

}  // namespace stage_model::http
