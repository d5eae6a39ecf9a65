// How a staging ended, and how one of several reports is chosen as its cause. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "stage_model/exit_code.h"

namespace stage_model::launch {

// How much a report tells: when one thing goes wrong, every node reports something within
// milliseconds, and all but one of the reports are consequences.
enum class Weight : std::uint32_t {
  kAbort = 10,         // MPI_Abort: most often MPI's own answer to a peer that has gone
  kEngineFabric = 20,  // an engine's own reason, when it is one that a dying peer gives it too
  kExit = 22,          // an engine ended with a status and no reason
  kNoFinalize = 24,    // … or with status 0 before its work was done
  kSignal = 35,        // an engine was killed
  kStalled = 40,       // an engine said nothing, or did not start
  kLost = 42,          // a launcher or its node is gone: what waits for it stalls
  kDeadline = 45,
  kMissing = 50,  // a node never came
  kLocal = 60,    // this launcher could not do its part (directory, PMIx, exec)
  kEngine = 70,   // an engine's own reason
  kCancelled = 90,
};

struct Report {
  Weight weight = Weight::kExit;
  ExitCode code = ExitCode::kStopped;
  std::string node;    // where it was seen; "" for one that is no node's
  std::string reason;  // one line
};

struct Outcome {
  bool staged = false;
  ExitCode code = ExitCode::kStopped;
  std::string node;
  std::string reason;
  bool operator==(const Outcome&) const = default;
};

// Keeps the most telling report; of equals the first.
class Verdict {
 public:
  bool add(const Report& report);  // true: it is the best so far
  bool empty() const { return !best_.has_value(); }
  const Report& best() const { return *best_; }  // requires !empty()

 private:
  std::optional<Report> best_;
};

Weight weight_of_engine_reason(ExitCode code);

// A number that came from another program, as a failure's code: kStopped where it is none.
ExitCode failure_code(std::uint32_t number);

}  // namespace stage_model::launch
