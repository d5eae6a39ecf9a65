// When a stage began and ended on this rank, and how much went through it. Stages overlap, so a
// span is first start to last end, not time spent.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace stage_model::report {

// Seconds since this process started to work. Each rank has its own zero, they differ by how
// MPI_Init let them go; Fabric::clock_offset tells by how much.
class Clock {
 public:
  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct StageSpan {
  double begin = std::numeric_limits<double>::infinity();
  double end = 0;
  std::uint64_t bytes = 0;

  void start(double now) { begin = std::min(begin, now); }
  void stop(double now, std::uint64_t more = 0) {
    end = std::max(end, now);
    bytes += more;
  }
};

}  // namespace stage_model::report
