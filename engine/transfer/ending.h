// How a rank's part ends early: whether it failed, whether rank 0 ended the list, whether anything
// moves at all, and since when it has been ending. Seconds throughout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "stage_model/result.h"

namespace stage_model::transfer {

// What was sequenced is broadcast to the end, but a stop that is requested does not wait for it for
// longer than this.
inline constexpr double kOrderlyEnd = 5;
// Beyond the stall limit, so that every rank has had its chance to say why; at most that limit
// again.
inline constexpr double kLastWord = 15;
// Looks at the source, and signs of life, per stall limit.
inline constexpr double kLooks = 16;

class Ending {
 public:
  Ending(double stall_timeout, double now) : stall_timeout_(stall_timeout), moved_(now) {}

  // False: it had ended already, for a reason that stays.
  bool fail(const Error& error, double now);
  bool end_list(const Cause& cause, double now);
  void request_stop() { stop_requested_ = true; }

  bool going_on() const { return !failure_ && !ended_by_; }
  const std::optional<Error>& failure() const { return failure_; }
  const std::optional<Cause>& ended_by() const { return ended_by_; }

  // Something moved on this rank.
  void moved(double now) { moved_ = now; }
  double quiet(double now) const { return now - moved_; }

  // When to look at the source again, at whether all stands still, or whether to wait any longer.
  double next_look() const;
  // A look at the source is due; a chunk may take minutes on a slow link, and while the source
  // throttles the fetcher waits by limits of its own: both are no standstill. True: it moves.
  bool source_moves(std::uint64_t progress, double now);
  // Rank 0 passes signs of life on, but not each one.
  bool may_pass_on_life(double now);
  // Nothing moved for the whole limit, and it is not ending yet.
  bool stalled(double now) const { return going_on() && quiet(now) >= stall_timeout_; }
  // It is ending, and does not get there.
  bool stuck(double now) const;
  // What the hard end is told to be because of. Another node's failure is named as that, since all
  // that is seen of it may be this.
  Error last_word() const;

 private:
  double ends_at_the_latest() const;

  double stall_timeout_;
  double moved_;
  double looked_ = 0, passed_on_ = 0;
  std::uint64_t seen_ = 0;
  std::optional<Error> failure_;
  std::optional<Cause> ended_by_;
  bool stop_requested_ = false;
  double since_ = 0;  // ending
};

}  // namespace stage_model::transfer
