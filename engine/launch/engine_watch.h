// Judges one run of the engine on this node from what it says and how it ends: once, and the first
// thing that is wrong. Pure; the process itself is in engine_process.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/launch/actions.h"
#include "engine/launch/engine_status.h"
#include "engine/launch/verdict.h"

namespace stage_model::launch {

struct EngineLimits {
  double start_timeout_s = 60;  // until MPI_Init is done
  double stall_timeout_s = 60;  // without a line on the status channel, from then on
  double kill_wait_s = 2;       // TERM to KILL
  double unkillable_s = 5;      // after KILL: a process in the kernel's hands is given up
};

struct EngineEnd {
  int status = 0;          // its exit status, if no signal ended it
  int signal = 0;          // 0: it exited
  std::string last_words;  // for messages: what it said last, and where the log is
};

class EngineWatch {
 public:
  // `node`: this one's name. The actions outlive it.
  EngineWatch(const EngineLimits& limits, std::string node, Actions& actions, double now);

  // A report comes once at most: what follows a failure, or the order to end, is its consequence.
  using MaybeReport = std::optional<Report>;
  MaybeReport said(double now, const StatusEvent& event);
  MaybeReport aborted(int status, const std::string& message, const std::string& last_words);
  void finalized() { finalized_ = true; }
  MaybeReport ended(const EngineEnd& end);
  MaybeReport tick(double now);
  void not_started() { has_ended_ = true; }

  void terminate(double now);  // TERM, then KILL

  bool has_ended() const { return has_ended_; }
  bool is_over() const { return has_ended_ || given_up_; }  // or does not end, whatever is done
  bool ended_well() const { return ended_well_; }
  double next_deadline() const;

 private:
  MaybeReport fail(Weight weight, ExitCode code, const std::string& node,
                   const std::string& reason);

  EngineLimits limits_;
  std::string node_;
  Actions& actions_;
  double silent_at_;  // when it counts as stalled
  double kill_at_;
  double give_up_at_;
  std::string stage_ = "start";
  bool connected_ = false;
  bool staged_ = false;
  bool finalized_ = false;
  bool failed_ = false;
  bool terminating_ = false;
  bool has_ended_ = false;
  bool ended_well_ = false;
  bool given_up_ = false;
};

}  // namespace stage_model::launch
