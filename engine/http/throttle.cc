#include "engine/http/throttle.h"

#include <algorithm>
#include <cmath>

namespace stage_model::http {
namespace {
// Requests that were in flight together are refused together: that is one event, not many.
constexpr double kOneEvent = 1.0;
}  // namespace

Throttle::Throttle(unsigned concurrency, double backoff_first_s, double backoff_max_s,
                   unsigned seed)
    : first_(backoff_first_s),
      max_(backoff_max_s),
      most_(std::max(1U, concurrency)),
      limit_(most_),
      random_(seed) {}

double Throttle::backoff(unsigned n) {
  const double whole = std::min(max_, first_ * std::exp2(std::min(n, 30U) - 1.0));
  return whole * std::uniform_real_distribution<double>(0.5, 1.0)(random_);
}

void Throttle::throttled(double now, std::optional<double> retry_after) {
  if (now - lowered_at_ >= kOneEvent) {
    limit_ = std::max(1.0, limit_ / 2);
    lowered_at_ = now;
    ++in_a_row_;
  }
  double pause = backoff(std::max(1U, in_a_row_));
  // Spread on top of what the server asked for: ranks that were refused together come back apart.
  if (retry_after) {
    pause =
        std::max(pause, *retry_after * std::uniform_real_distribution<double>(1.0, 1.2)(random_));
  }
  not_before_ = std::max(not_before_, now + pause);
}

void Throttle::succeeded() {
  in_a_row_ = 0;
  limit_ = std::min(most_, limit_ + 1 / limit_);
}

}  // namespace stage_model::http
