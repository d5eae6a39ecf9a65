#include "engine/launch/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/text.h"

namespace stage_model::launch {
namespace {

const char* const kNotOurs = "it sent something that is not the launchers' protocol";

std::string encode_outcome(const Outcome& outcome) {
  return encode(
      FailureText{0, static_cast<std::uint32_t>(outcome.code), outcome.node, outcome.reason});
}

std::string clean(const std::string& text) { return one_line(text, kMaxReason); }

}  // namespace

Coordinator::Coordinator(const std::vector<Node>& nodes, const Setup& setup)
    : nodes_(nodes),
      setup_(setup),
      tree_(static_cast<std::uint32_t>(nodes.size()), setup.index, setup.star_limit, setup.fan_out),
      members_(tree_, nodes, {setup.heartbeat_timeout_s, setup.may_return}, actions_),
      exchange_(tree_, actions_) {}

// --- Before the engine.

void Coordinator::start(double now) {
  deadline_at_ = now + setup_.deadline_s;
  if (tree_.size() > 1) rendezvous_at_ = now + setup_.rendezvous_timeout_s;
  members_.start(now);
}

void Coordinator::cannot_meet(double now, const Error& error) {
  alone_ = true;  // the others find this node missing
  conclude(now, {false, error.code, own_node(), clean(error.message)});
}

void Coordinator::prepared(double now) {
  prepared_ = true;
  begin_if_met(now);
}

void Coordinator::not_prepared(double now, const Error& error) {
  report(now, Report{Weight::kLocal, error.code, own_node(), clean(error.message)});
}

void Coordinator::begin_if_met(double now) {
  if (!tree_.is_root() || !members_.is_complete()) return;
  if (!prepared_ || run_started_ || concluded_ || !verdict_.empty()) return;
  if (tree_.size() > 1) log("all launchers have met");
  begin_run(now, 0);
}

void Coordinator::rendezvous_over(double now) {
  rendezvous_at_ = kNever;
  members_.close();
  if (tree_.is_root()) {
    // Complete, if it was this launcher that could not begin: that is reported already.
    if (members_.is_complete()) return;
    report(now, Report{Weight::kMissing, ExitCode::kStopped, "",
                       clean(fmt::format("no launcher came within {:g} s from {}",
                                         setup_.rendezvous_timeout_s, members_.missing_nodes()))});
  } else if (!members_.has_parent()) {
    report(now, Report{Weight::kMissing, ExitCode::kStopped, own_node(),
                       clean(fmt::format("cannot reach the launcher on node {} within {:g} s: {}",
                                         nodes_[tree_.parent()].name, setup_.rendezvous_timeout_s,
                                         parent_problem_))});
    decide_at_ = now;
  }
  // A launcher with a parent waits for what it says: index 0 has the same limit, and its silence
  // shows in the heartbeats.
}

// --- The engine.

void Coordinator::begin_run(double now, std::uint32_t run) {
  run_ = run;
  run_started_ = true;
  done_.clear();
  rendezvous_at_ = kNever;
  members_.close();
  send_down(MessageType::kStart, encode_number(run));
  exchange_.begin(run);
  engine_.reset();
  // Gone again while the word to start was on its way.
  for (const std::uint32_t absent : members_.absent_children()) {
    lost(now, absent, "connection closed");
  }
  if (!prepared_ || concluded_) return;  // reported already
  if (run >= setup_.runs) {
    report(now, Report{Weight::kLocal, ExitCode::kFabric, own_node(),
                       "the launchers of this job were asked for different numbers of models"});
    return;
  }
  user_at_ = now + setup_.engine.start_timeout_s;
  if (user_found_) user_found(now);
}

void Coordinator::user_found(double now) {
  user_found_ = true;
  if (user_at_ == kNever) return;  // no engine is waiting for it
  user_at_ = kNever;
  engine_.emplace(setup_.engine, own_node(), actions_, now);
  actions_.push_back(StartEngine{run_});
}

void Coordinator::engine_started(double /*now*/) {
  log(fmt::format("engine of run {} started", run_));
  exchange_.engine_started();
}

void Coordinator::engine_not_started(double now, const Error& error) {
  if (engine_) engine_->not_started();
  report(now, Report{Weight::kLocal, error.code, own_node(), clean(error.message)});
  wind_up(now);
}

void Coordinator::engine_said(double now, const StatusEvent& event) {
  if (engine_) report(now, engine_->said(now, event));
}

void Coordinator::engine_ended(double now, const EngineEnd& end) {
  if (!engine_ || engine_->has_ended()) return;
  report(now, engine_->ended(end));
  if (engine_->ended_well()) finish_run(now, tree_.me());
  wind_up(now);
}

void Coordinator::aborted(double now, int status, const std::string& message,
                          const std::string& last_words) {
  if (engine_) report(now, engine_->aborted(status, message, last_words));
}

void Coordinator::finalized() {
  if (engine_) engine_->finalized();
}

// A run is over when it is over in every subtree; index 0 then begins the next, or ends it all.
void Coordinator::finish_run(double now, std::uint32_t side) {
  if (concluded_) return;
  done_.insert(side);
  if (done_.size() < tree_.children().size() + 1) return;
  if (!tree_.is_root()) {
    actions_.push_back(Send{{tree_.parent()}, MessageType::kDone, encode_number(run_)});
  } else if (!verdict_.empty()) {
    return;  // who had ended well is lost since, or was cancelled: that is decided on
  } else if (run_ + 1 < setup_.runs) {
    begin_run(now, run_ + 1);
  } else {
    agree(now);
  }
}

// --- What MPI asks for.

void Coordinator::entered_fence(double /*now*/, std::uint64_t ticket,
                                std::vector<std::uint32_t> members, std::string data) {
  exchange_.enter_fence(ticket, std::move(members), std::move(data));
}

void Coordinator::asked_modex(double /*now*/, std::uint64_t ticket, std::uint32_t rank) {
  exchange_.ask(ticket, rank);
}

void Coordinator::published(double /*now*/, std::uint64_t ask, std::int32_t status,
                            const std::string& data) {
  exchange_.published(ask, status, data);
}

// --- The others.

bool Coordinator::admits(std::uint32_t child) const {
  return !finished_ && !ended_ && members_.admits(child);
}

void Coordinator::link_up(double now, std::uint32_t neighbour) {
  const bool is_parent = !tree_.is_root() && neighbour == tree_.parent();
  members_.link_up(now, neighbour);
  if (is_parent) {
    // What was reported before did not reach it, or reached one that has been started again since.
    if (!verdict_.empty()) tell_parent(verdict_.best());
    if (!concluded_) decide_at_ = kNever;
  } else if (concluded_) {  // late to a rendezvous that has failed
    actions_.push_back(Send{{neighbour}, MessageType::kOutcome, encode_outcome(outcome_)});
  } else {
    begin_if_met(now);
  }
}

void Coordinator::link_down(double now, std::uint32_t neighbour, const std::string& why) {
  switch (members_.link_down(neighbour)) {
    case Membership::Loss::kIgnored:
      break;
    case Membership::Loss::kMayReturn:
      log(fmt::format("{} is gone ({}), and may come again", nodes_[neighbour].name, why));
      if (!tree_.is_root() && neighbour == tree_.parent() && !verdict_.empty()) {
        wait_for_parent(now, verdict_.best().weight);
      }
      break;
    case Membership::Loss::kLost:
      lost(now, neighbour, why);
      break;
  }
  wind_up(now);
}

void Coordinator::lost(double now, std::uint32_t neighbour, const std::string& why) {
  if (concluded_) return;
  const Report loss{Weight::kLost, ExitCode::kStopped, nodes_[neighbour].name,
                    fmt::format("the launcher is gone ({}); was it or its node stopped?", why)};
  if (!tree_.is_root() && neighbour == tree_.parent()) {
    // Cut off from index 0 there is nobody to wait for. Whatever was seen here before, the others
    // that are cut off know of the lost parent alone: so that all say the same, it is the cause.
    log(fmt::format("cut off: {}: {}", loss.node, loss.reason));
    conclude(now, {false, loss.code, loss.node, loss.reason});
  } else {
    report(now, loss);
  }
}

void Coordinator::heard(std::uint32_t neighbour, double when) { members_.heard(neighbour, when); }

void Coordinator::child_refused(std::uint32_t child, const std::string& why) {
  members_.refused(child, why);
}

void Coordinator::received(double now, std::uint32_t neighbour, const Frame& frame) {
  if (!members_.is_linked(neighbour)) return;
  members_.heard(neighbour, now);
  if (frame.type == MessageType::kBeat || concluded_) return;
  if (handle(now, neighbour, frame)) return;
  actions_.push_back(CloseLink{neighbour});
  link_down(now, neighbour, kNotOurs);
}

bool Coordinator::handle(double now, std::uint32_t neighbour, const Frame& frame) {
  if (frame.type == MessageType::kModexAsk || frame.type == MessageType::kModexReply) {
    const std::optional<Modex> modex = decode_modex(frame.body);
    return modex && exchange_.on_modex(neighbour, frame.type, *modex);
  }
  const bool from_parent = !tree_.is_root() && neighbour == tree_.parent();
  return from_parent ? handle_from_parent(now, frame) : handle_from_child(now, neighbour, frame);
}

bool Coordinator::handle_from_parent(double now, const Frame& frame) {
  const bool own_done = done_.size() == tree_.children().size() + 1;
  switch (frame.type) {
    case MessageType::kStart: {
      const std::optional<std::uint32_t> run = decode_number(frame.body);
      const bool next = run && (run_started_ ? *run == run_ + 1 && own_done : *run == 0);
      if (next) begin_run(now, *run);
      return next;
    }
    case MessageType::kFenceDone: {
      const std::optional<FenceData> whole = decode_fence(frame.body);
      if (whole) exchange_.on_whole(*whole);
      return whole.has_value();
    }
    case MessageType::kOutcome: {
      const std::optional<FailureText> failure = decode_failure(frame.body);
      if (!failure) return false;
      conclude(now,
               {false, failure_code(failure->code), clean(failure->node), clean(failure->reason)});
      return true;
    }
    case MessageType::kAgreed:
      if (!run_started_ || !own_done || run_ + 1 != setup_.runs) return false;
      agree(now);
      return true;
    default:
      return false;
  }
}

bool Coordinator::handle_from_child(double now, std::uint32_t child, const Frame& frame) {
  switch (frame.type) {
    case MessageType::kMet: {
      const std::optional<std::uint32_t> index = decode_number(frame.body);
      if (!index || !members_.on_met(child, *index)) return false;
      begin_if_met(now);
      return true;
    }
    case MessageType::kLeft: {
      const std::optional<std::uint32_t> index = decode_number(frame.body);
      return index && members_.on_left(child, *index);
    }
    case MessageType::kDone: {
      const std::optional<std::uint32_t> run = decode_number(frame.body);
      if (!run || !run_started_ || *run > run_) return false;
      if (*run == run_) finish_run(now, child);
      return true;
    }
    case MessageType::kFence: {
      const std::optional<FenceData> part = decode_fence(frame.body);
      return part && exchange_.on_part(child, *part);
    }
    case MessageType::kFailed: {
      const std::optional<FailureText> failure = decode_failure(frame.body);
      if (!failure) return false;
      report(now, Report{static_cast<Weight>(failure->weight), failure_code(failure->code),
                         clean(failure->node), clean(failure->reason)});
      return true;
    }
    default:
      return false;
  }
}

// --- The end.

void Coordinator::cancel(double now) {
  report(now, Report{Weight::kCancelled, ExitCode::kStopped, "", "cancelled"});
}

void Coordinator::report(double now, const std::optional<Report>& failure) {
  if (failure) report(now, *failure);
}

void Coordinator::report(double now, const Report& failure) {
  if (concluded_) return;
  log(fmt::format("report: {}: {}", failure.node, failure.reason));
  const bool is_best = verdict_.add(failure);
  if (tree_.is_root()) {
    decide_at_ = std::min(decide_at_, now + kGather);
  } else if (members_.has_parent()) {
    if (is_best) tell_parent(failure);  // of what tells less nobody will speak
  } else {
    wait_for_parent(now, verdict_.best().weight);
  }
}

// Most have until the end of the rendezvous for their parent to come and hear.
void Coordinator::wait_for_parent(double now, Weight weight) {
  if (weight != Weight::kCancelled && weight != Weight::kDeadline) return;
  decide_at_ = std::min(decide_at_, now + kActAlone);
}

void Coordinator::tell_parent(const Report& failure) {
  actions_.push_back(Send{
      {tree_.parent()},
      MessageType::kFailed,
      encode(FailureText{static_cast<std::uint32_t>(failure.weight),
                         static_cast<std::uint32_t>(failure.code), failure.node, failure.reason})});
}

void Coordinator::agree(double now) {
  if (concluded_) return;
  send_down(MessageType::kAgreed, "");
  conclude(now, {true, ExitCode::kStaged, "", ""});
}

void Coordinator::conclude(double now, const Outcome& outcome) {
  if (concluded_) return;
  concluded_ = true;
  outcome_ = outcome;
  deadline_at_ = rendezvous_at_ = user_at_ = decide_at_ = kNever;
  members_.close();
  if (!outcome.staged) send_down(MessageType::kOutcome, encode_outcome(outcome));
  if (engine_) engine_->terminate(now);
  const bool all_know = outcome.staged || alone_ || members_.absent_children().empty();
  finish_at_ = now + (all_know ? 0 : kLinger);
  wind_up(now);
}

// Ends everything once the engine is gone and the neighbours know, or have had their time.
void Coordinator::wind_up(double now) {
  if (!concluded_ || ended_) return;
  // Written before the goodbyes: nothing that a neighbour does can change it any more.
  if (!record_written_ && (!engine_ || engine_->is_over())) {
    record_written_ = true;
    actions_.push_back(WriteRecord{outcome_});
  }
  if (!finished_ && now >= finish_at_) {
    finished_ = true;
    actions_.push_back(StopListening{});
    members_.finish();
  }
  if (record_written_ && finished_ && (members_.is_quiet() || now >= finish_at_ + kFlush)) {
    ended_ = true;
    actions_.push_back(End{});
  }
}

// --- Time.

void Coordinator::tick(double now) {
  if (ended_) return;
  if (now >= deadline_at_) {
    deadline_at_ = kNever;
    report(now, Report{Weight::kDeadline, ExitCode::kStopped, "",
                       fmt::format("staging took longer than its deadline of {:g} s",
                                   setup_.deadline_s)});
  }
  if (now >= rendezvous_at_) rendezvous_over(now);
  if (now >= user_at_) {
    user_at_ = kNever;
    report(now, Report{Weight::kLocal, ExitCode::kStopped, own_node(),
                       fmt::format("the user database has not answered for uid {} within {:g} s",
                                   setup_.uid, setup_.engine.start_timeout_s)});
  }
  for (const std::uint32_t silent : members_.tick(now)) {
    actions_.push_back(CloseLink{silent});
    link_down(now, silent, fmt::format("silent for {:g} s", setup_.heartbeat_timeout_s));
  }
  if (engine_) report(now, engine_->tick(now));
  if (now >= decide_at_ && !verdict_.empty()) {
    const Report& best = verdict_.best();
    conclude(now, {false, best.code, best.node, best.reason});
  }
  wind_up(now);
}

double Coordinator::next_deadline() const {
  if (ended_) return kNever;
  double next =
      std::min({deadline_at_, rendezvous_at_, user_at_, decide_at_, members_.next_deadline()});
  if (engine_) next = std::min(next, engine_->next_deadline());
  if (concluded_) {
    if (!finished_) next = std::min(next, finish_at_);
    if (finished_ && record_written_) next = std::min(next, finish_at_ + kFlush);
  }
  return next;
}

Actions Coordinator::take_actions() { return std::exchange(actions_, {}); }

void Coordinator::send_down(MessageType type, const std::string& body) {
  Send send{{}, type, body};
  for (const Subtree& child : tree_.children()) {
    if (members_.is_linked(child.head)) send.to.push_back(child.head);
  }
  if (!send.to.empty()) actions_.push_back(std::move(send));
}

void Coordinator::log(std::string text) { actions_.push_back(Log{std::move(text)}); }

}  // namespace stage_model::launch
