// What happened in a run, a line an event. Off unless a seed is replayed, since to write every
// event of ten thousand runs would cost more than the runs; a run is a function of its seed, so the
// same seed run again with the trace on tells all of it. One thread.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <deque>
#include <string>
#include <utility>

#include "tests/simulation/base/virtual_time.h"

namespace stage_model::simulation {

class Trace {
 public:
  // kRing: the last kKept lines are kept for print(). kWhole: each line goes to stdout at once.
  enum class Mode { kOff, kRing, kWhole };

  explicit Trace(Mode mode = Mode::kOff) : mode_(mode) {}

  bool on() const { return mode_ != Mode::kOff; }

  // trace.add(time, "rank {} posts {}", rank, chunk): formatted only where the trace is on.
  template <class... Args>
  void add(Time now, fmt::format_string<Args...> format, Args&&... args) {
    if (mode_ == Mode::kOff) return;
    keep(fmt::format("{:12.6f} s  ", to_seconds(now)) +
         fmt::format(format, std::forward<Args>(args)...));
  }

  void print(std::FILE* out) const {
    for (const std::string& line : lines_) fmt::print(out, "{}\n", line);
  }

 private:
  static constexpr std::size_t kKept = 100;

  void keep(std::string line) {
    if (mode_ == Mode::kWhole) {
      fmt::print("{}\n", line);
      return;
    }
    lines_.push_back(std::move(line));
    if (lines_.size() > kKept) lines_.pop_front();
  }

  Mode mode_;
  std::deque<std::string> lines_;
};

}  // namespace stage_model::simulation
