#include "engine/launch/engine_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/base/text.h"

namespace stage_model::launch {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

EngineWatch::EngineWatch(const EngineLimits& limits, std::string node, Actions& actions, double now)
    : limits_(limits),
      node_(std::move(node)),
      actions_(actions),
      silent_at_(now + limits.start_timeout_s),
      kill_at_(kNever),
      give_up_at_(kNever) {}

EngineWatch::MaybeReport EngineWatch::said(double now, const StatusEvent& event) {
  switch (event.word) {
    case StatusEvent::Word::kFailed:
      return fail(weight_of_engine_reason(event.code), event.code, event.node, event.text);
    case StatusEvent::Word::kConnected:
      if (!connected_) actions_.push_back(Log{"MPI_Init is done"});
      connected_ = true;
      break;
    case StatusEvent::Word::kStage:
      stage_ = event.text;
      break;
    case StatusEvent::Word::kStaged:
      staged_ = true;
      stage_ = "end";
      break;
    case StatusEvent::Word::kAlive:
      break;
  }
  const bool watched = !failed_ && !terminating_ && !has_ended_;
  if (connected_ && watched) silent_at_ = now + limits_.stall_timeout_s;
  return std::nullopt;
}

EngineWatch::MaybeReport EngineWatch::aborted(int status, const std::string& message,
                                              const std::string& last_words) {
  return fail(Weight::kAbort, ExitCode::kFabric, "",
              fmt::format("the engine called MPI_Abort with status {}{}{}{}", status,
                          message.empty() ? "" : ": ", message, last_words));
}

EngineWatch::MaybeReport EngineWatch::ended(const EngineEnd& end) {
  actions_.push_back(Log{"engine has ended"});
  has_ended_ = true;
  silent_at_ = kNever;
  kill_at_ = kNever;
  give_up_at_ = kNever;
  if (end.signal != 0) {
    const char* name = sigdescr_np(end.signal);
    return fail(Weight::kSignal, ExitCode::kStopped, "",
                fmt::format("the engine was killed by signal {} ({}){}", end.signal,
                            name != nullptr ? name : "?", end.last_words));
  }
  if (end.status != 0) {
    const bool known = end.status >= static_cast<int>(ExitCode::kUsage) &&
                       end.status <= static_cast<int>(ExitCode::kStopped);
    return fail(Weight::kExit, known ? static_cast<ExitCode>(end.status) : ExitCode::kFabric, "",
                fmt::format("the engine ended with status {} and gave no reason{}", end.status,
                            end.last_words));
  }
  if (!staged_) {
    return fail(Weight::kNoFinalize, ExitCode::kFabric, "",
                fmt::format("the engine ended before it had staged anything{}", end.last_words));
  }
  if (!finalized_) {
    return fail(Weight::kNoFinalize, ExitCode::kFabric, "",
                fmt::format("the engine ended without MPI_Finalize{}", end.last_words));
  }
  ended_well_ = !failed_ && !terminating_;
  return std::nullopt;
}

EngineWatch::MaybeReport EngineWatch::tick(double now) {
  if (now >= give_up_at_) {
    give_up_at_ = kNever;
    given_up_ = true;
  }
  if (now >= kill_at_) {
    kill_at_ = kNever;
    // From now on, not from when it was due: this launcher may have been stopped in between.
    give_up_at_ = now + limits_.unkillable_s;
    actions_.push_back(EndEngine{true});
  }
  if (now < silent_at_) return std::nullopt;
  return fail(Weight::kStalled, ExitCode::kStopped, "",
              connected_
                  ? fmt::format("the engine has said nothing for {:g} s (stage: {}); is its disk "
                                "or the process stopped?",
                                limits_.stall_timeout_s, stage_)
                  : fmt::format("the engine did not get through MPI_Init within {:g} s",
                                limits_.start_timeout_s));
}

void EngineWatch::terminate(double now) {
  if (terminating_) return;
  terminating_ = true;
  silent_at_ = kNever;
  if (has_ended_) return;
  actions_.push_back(EndEngine{false});
  kill_at_ = now + limits_.kill_wait_s;
}

double EngineWatch::next_deadline() const { return std::min({silent_at_, kill_at_, give_up_at_}); }

EngineWatch::MaybeReport EngineWatch::fail(Weight weight, ExitCode code, const std::string& node,
                                           const std::string& reason) {
  silent_at_ = kNever;
  if (failed_ || terminating_) return std::nullopt;
  failed_ = true;
  return Report{weight, code, node.empty() ? node_ : node, one_line(reason, kMaxReason)};
}

}  // namespace stage_model::launch
