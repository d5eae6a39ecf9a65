#include "engine/http/low_speed.h"

namespace stage_model::http {
namespace {
constexpr int kSamples = 16;  // per window: how finely it slides
}

LowSpeed::LowSpeed(double window_s, std::uint64_t bytes, double now)
    : window_(window_s), bytes_(bytes) {
  restart(now, 0);
}

void LowSpeed::restart(double now, std::uint64_t total) {
  samples_.clear();
  samples_.push_back({now, total});
}

bool LowSpeed::stalled(double now, std::uint64_t total) {
  if (window_ <= 0) return false;
  if (now - samples_.back().at >= window_ / kSamples) samples_.push_back({now, total});
  // Keep exactly one sample that is a whole window old or older.
  while (samples_.size() > 1 && now - samples_[1].at >= window_) samples_.pop_front();
  return now - samples_.front().at >= window_ && total - samples_.front().total < bytes_;
}

}  // namespace stage_model::http
