// What one process does when a store says "too much": everybody pauses, and fewer requests run at
// once until things go well again (additive increase, multiplicative decrease). Not thread-safe.
#pragma once

#include <optional>
#include <random>

namespace stage_model::http {

class Throttle {
 public:
  Throttle(unsigned concurrency, double backoff_first_s, double backoff_max_s, unsigned seed);

  unsigned limit() const { return static_cast<unsigned>(limit_); }  // requests in flight, >= 1
  double not_before() const { return not_before_; }                 // no new request earlier

  // `retry_after`: what the server asked for, already bounded.
  void throttled(double now, std::optional<double> retry_after);
  void succeeded();

  // Seconds to wait before the n-th retry (n >= 1) of one request: doubling, with jitter.
  double backoff(unsigned n);

 private:
  double first_, max_;
  double most_, limit_;
  double not_before_ = 0;
  double lowered_at_ = -1e9;
  unsigned in_a_row_ = 0;  // throttled answers since the last good one
  std::minstd_rand random_;
};

}  // namespace stage_model::http
