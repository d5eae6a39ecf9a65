// Seconds on the monotonic clock.
#pragma once

#include <chrono>

namespace stage_model {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace stage_model
