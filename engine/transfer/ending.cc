#include "engine/transfer/ending.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace stage_model::transfer {

bool Ending::fail(const Error& error, double now) {
  if (!going_on()) return false;
  failure_ = error;
  since_ = now;
  return true;
}

bool Ending::end_list(const Cause& cause, double now) {
  if (ended_by_) return false;
  if (going_on()) since_ = now;
  ended_by_ = cause;
  return true;
}

double Ending::next_look() const {
  if (!going_on()) return ends_at_the_latest();
  return std::max(moved_, looked_) + stall_timeout_ / kLooks;
}

bool Ending::source_moves(std::uint64_t progress, double now) {
  if (!going_on() || now < next_look()) return false;
  looked_ = now;
  if (std::exchange(seen_, progress) == progress) return false;
  moved_ = now;
  return true;
}

bool Ending::may_pass_on_life(double now) {
  if (now < passed_on_ + stall_timeout_ / kLooks) return false;
  passed_on_ = now;
  return true;
}

double Ending::ends_at_the_latest() const {
  const double last_word = moved_ + stall_timeout_ + std::min(kLastWord, stall_timeout_);
  return stop_requested_ ? std::min(since_ + kOrderlyEnd, last_word) : last_word;
}

bool Ending::stuck(double now) const { return !going_on() && now >= ends_at_the_latest(); }

Error Ending::last_word() const {
  if (failure_) return *failure_;
  return {ended_by_->error.code,
          fmt::format("{} failed ({}), and this node's disk or source did not come back meanwhile",
                      ended_by_->node, ended_by_->error.message)};
}

}  // namespace stage_model::transfer
