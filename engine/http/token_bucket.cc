#include "engine/http/token_bucket.h"

#include <algorithm>

namespace stage_model::http {

// A tenth of a second of burst: enough to cover the loop's own latency.
TokenBucket::TokenBucket(double bytes_per_second, double now)
    : rate_(bytes_per_second), capacity_(bytes_per_second * 0.1), tokens_(capacity_), last_(now) {}

void TokenBucket::refill(double now) {
  if (now <= last_) return;  // another thread came first
  tokens_ = std::min(capacity_, tokens_ + (now - last_) * rate_);
  last_ = now;
}

bool TokenBucket::open(double now) {
  if (unlimited()) return true;
  const MutexLock lock(mutex_);
  refill(now);
  return tokens_ > 0;
}

void TokenBucket::take(std::uint64_t bytes) {
  total_ += bytes;
  if (unlimited()) return;
  const MutexLock lock(mutex_);
  tokens_ -= static_cast<double>(bytes);
}

double TokenBucket::wait(double now) {
  if (unlimited()) return 0;
  const MutexLock lock(mutex_);
  refill(now);
  return tokens_ > 0 ? 0 : -tokens_ / rate_ + 0.001;
}

}  // namespace stage_model::http
