// Time that passes only when something is due: the events of one simulated run, in order. What is
// due at the same moment happens in the order in which it was asked for, so a run is a function of
// its seed and of nothing else. One thread. Unit: nanoseconds since the start of the run, as an
// integer, so that sums do not depend on their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace stage_model::simulation {

using Time = std::int64_t;

inline constexpr Time kMicrosecond = 1000;
inline constexpr Time kMillisecond = 1000 * kMicrosecond;
inline constexpr Time kSecond = 1000 * kMillisecond;

inline constexpr Time from_seconds(double seconds) {
  return static_cast<Time>(seconds * static_cast<double>(kSecond));
}
inline constexpr double to_seconds(Time time) {
  return static_cast<double>(time) / static_cast<double>(kSecond);
}

class VirtualTime {
 public:
  using Event = std::function<void()>;

  Time now() const { return now_; }
  double seconds() const { return to_seconds(now_); }

  // A time that has passed already means now, after all that is due now already.
  void at(Time time, Event event) {
    due_.push_back({std::max(time, now_), ++asked_, std::move(event)});
    std::push_heap(due_.begin(), due_.end(), later);
  }
  void after(Time delay, Event event) { at(now_ + delay, std::move(event)); }

  // Nothing will ever happen any more.
  bool idle() const { return due_.empty(); }
  // How many events are still to happen.
  std::size_t pending() const { return due_.size(); }
  // When the next event is due; not idle().
  Time next() const { return due_.front().time; }

  // The next event happens. False: there is none.
  bool step() {
    if (due_.empty()) return false;
    std::pop_heap(due_.begin(), due_.end(), later);
    Due due = std::move(due_.back());
    due_.pop_back();
    now_ = due.time;
    ++happened_;
    due.event();
    return true;
  }

  std::uint64_t happened() const { return happened_; }

 private:
  struct Due {
    Time time;
    std::uint64_t number;
    Event event;
  };
  static bool later(const Due& a, const Due& b) {
    return std::pair(a.time, a.number) > std::pair(b.time, b.number);
  }

  Time now_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t happened_ = 0;
  std::vector<Due> due_;  // a heap
};

}  // namespace stage_model::simulation
