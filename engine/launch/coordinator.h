// What one launcher of a job decides: when the engines start, what the neighbours are told, what is
// the cause of a failure, when all is over. A state machine: events and the time go in, actions
// come out (actions.h). No socket, process, file, thread or clock: the driver (launcher.h) has
// them, the simulator (tests/simulation/launchers) has virtual ones. coordinator.cc is the order of
// events; who is there, the engine, MPI's exchange and the verdict are files of their own.
//
// A launcher concludes in three ways only, and so all that hear of each other conclude the same:
//   index 0      by the verdict over the reports, or when every subtree has ended well;
//   the others   by what their parent says;
//   cut off      (the parent is lost, or was never reached) for that reason.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/launch/actions.h"
#include "engine/launch/engine_status.h"
#include "engine/launch/engine_watch.h"
#include "engine/launch/exchange.h"
#include "engine/launch/membership.h"
#include "engine/launch/tree.h"
#include "engine/launch/verdict.h"
#include "stage_model/launch_order.h"
#include "stage_model/result.h"

namespace stage_model::launch {

class Coordinator {
 public:
  // Index 0 waits this long after the first report of a failure: the reports of one event come
  // within milliseconds of each other, and the first to come is often a consequence. Seconds, as
  // all that follows.
  static constexpr double kGather = 0.25;
  // A launcher that is cancelled, or over its deadline, and cannot reach its parent gives it this
  // long to come and hear.
  static constexpr double kActAlone = 2;
  // Whoever comes to a rendezvous that has failed is told so, for this long.
  static constexpr double kLinger = 2;
  static constexpr double kFlush = 1;  // neighbours that do not read any more

  struct Setup {
    std::uint32_t index = 0;
    std::uint32_t runs = 1;   // engines one after another
    std::uint32_t uid = 0;    // for messages
    bool may_return = false;  // see Membership::Options
    double deadline_s = 1800;
    double rendezvous_timeout_s = 60;
    double heartbeat_timeout_s = 5;
    EngineLimits engine;
    std::uint32_t star_limit = Tree::kStarLimit;
    std::uint32_t fan_out = Tree::kFanOut;
  };

  // `nodes` in rank order; outlives the coordinator.
  Coordinator(const std::vector<Node>& nodes, const Setup& setup);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Events. `now`: seconds on a clock that does not go back.
  void start(double now);
  void cannot_meet(double now, const Error& error);  // in place of start: nobody can be told
  void prepared(double now);
  void not_prepared(double now, const Error& error);
  void user_found(double now);
  void cancel(double now);
  void tick(double now);  // at next_deadline(), or at any time

  void link_up(double now, std::uint32_t neighbour);  // authenticated; a child only if admits()
  void link_down(double now, std::uint32_t neighbour, const std::string& why);
  void heard(std::uint32_t neighbour, double when);  // bytes came, if not a whole frame
  void received(double now, std::uint32_t neighbour, const Frame& frame);
  void child_refused(std::uint32_t child, const std::string& why);
  void parent_unreachable(const std::string& why) { parent_problem_ = why; }

  void engine_started(double now);
  void engine_not_started(double now, const Error& error);
  void engine_said(double now, const StatusEvent& event);
  void engine_ended(double now, const EngineEnd& end);

  void entered_fence(double now, std::uint64_t ticket, std::vector<std::uint32_t> members,
                     std::string data);
  void asked_modex(double now, std::uint64_t ticket, std::uint32_t rank);
  void published(double now, std::uint64_t ask, std::int32_t status, const std::string& data);
  void aborted(double now, int status, const std::string& message, const std::string& last_words);
  void finalized();

  // What has to be done now; empty until the next event.
  Actions take_actions();
  double next_deadline() const;  // infinity: none

  bool admits(std::uint32_t child) const;
  const Tree& tree() const { return tree_; }
  bool concluded() const { return concluded_; }
  const Outcome& outcome() const { return outcome_; }  // once concluded

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  void begin_if_met(double now);
  void begin_run(double now, std::uint32_t run);
  void finish_run(double now, std::uint32_t side);
  bool handle(double now, std::uint32_t neighbour, const Frame& frame);
  bool handle_from_parent(double now, const Frame& frame);
  bool handle_from_child(double now, std::uint32_t child, const Frame& frame);
  void rendezvous_over(double now);
  void lost(double now, std::uint32_t neighbour, const std::string& why);
  void report(double now, const Report& report);
  void report(double now, const std::optional<Report>& report);
  void tell_parent(const Report& report);
  void wait_for_parent(double now, Weight weight);
  void agree(double now);
  void conclude(double now, const Outcome& outcome);
  void wind_up(double now);
  void send_down(MessageType type, const std::string& body);
  void log(std::string text);
  const std::string& own_node() const { return nodes_[setup_.index].name; }

  const std::vector<Node>& nodes_;
  Setup setup_;
  Tree tree_;
  Actions actions_;
  Membership members_;
  Exchange exchange_;
  std::optional<EngineWatch> engine_;
  Verdict verdict_;
  std::string parent_problem_;

  // When something is due; kNever: it is not.
  double deadline_at_ = kNever;
  double rendezvous_at_ = kNever;
  double user_at_ = kNever;    // the user database must have answered
  double decide_at_ = kNever;  // the verdict is the outcome
  double finish_at_ = kNever;  // the links are ended

  bool prepared_ = false;
  bool user_found_ = false;
  bool run_started_ = false;
  std::uint32_t run_ = 0;
  std::set<std::uint32_t> done_;  // sides (self, children) that have ended run_ well
  bool alone_ = false;            // there is no network

  bool concluded_ = false;
  Outcome outcome_;
  bool record_written_ = false;
  bool finished_ = false;
  bool ended_ = false;
};

}  // namespace stage_model::launch
