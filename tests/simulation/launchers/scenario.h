// What a seed's run is made of: how many launchers, their limits, the network's delays, and what
// goes wrong when. Drawn once, before the run begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/launch/coordinator.h"
#include "tests/simulation/base/random.h"
#include "tests/simulation/base/virtual_time.h"

namespace stage_model::simulation {

struct Fault {
  enum class What {
    kKill,       // the launcher is killed: its engine dies, its sockets close
    kPowerOff,   // the node is gone: no socket says so
    kHang,       // the launcher stops without dying, for `seconds` or (0) for ever
    kPause,      // all launchers stop at once, for `seconds`: a cluster of virtual machines
    kCut,        // nothing passes between a child and its parent, both ways
    kCutUp,      // … from the child to its parent
    kCutDown,    // … from the parent to its child
    kReset,      // the connection between a child and its parent breaks
    kPartition,  // nothing passes between nodes below `node` and the others
    kGarbage,    // the launcher sends its neighbours random frames, authenticated
    kStrangers,  // random bytes and greetings on the launcher's port
    kLate,       // the launcher comes `seconds` late
    kNever,      // it does not come
    kTwice,      // a second launcher for the same node, started at `at`
    kRestart,    // killed, and started again `seconds` later
    kCancel,     // the launcher gets a signal
    kCancelAll,  // all of them do
    kNoPlace,    // it cannot prepare
    kNoUser,     // the user database answers after `seconds`, or (0) never
    // The engine of run `run`:
    kEngineFails,       // says its reason and ends with a code
    kEngineExits,       // ends with a code and no word
    kEngineKilled,      // by a signal
    kEngineAborts,      // MPI_Abort
    kEngineSilent,      // says nothing any more, and does not end
    kEngineNoFinalize,  // ends with 0 too early
    kEngineNotStaged,
    kEngineCannotStart,
    kEngineUnkillable,  // does not even end when killed
  };
  What what = What::kKill;
  std::uint32_t node = 0;
  double at = 0;
  double seconds = 0;
  std::uint32_t run = 0;
  int code = 0;
  // kMet: when the first engine starts; kDone: when the first one has ended its last run.
  enum class When { kAt, kMet, kDone };
  When when = When::kAt;
};

std::string describe(const Fault& fault);
bool is_of_engine(const Fault& fault);

struct Scenario {
  std::uint32_t nodes = 1;
  launch::Coordinator::Setup setup;
  double least_latency = 0.0001;
  double most_latency = 0.001;
  double work_s = 1;         // of an engine, without waiting for others
  bool endless = false;      // engines work until they are stopped
  bool sub_fence = false;    // a fence of some ranks only, too
  bool modex = false;        // ranks ask each other
  bool early_modex = false;  // … before the first fence, too
  std::vector<Fault> faults;

  double period() const;  // of heartbeats, as Membership has it
  std::uint32_t depth() const;
  // One pause, or one hang or cut, of this length must not be noticed.
  bool is_short_pause(double seconds) const;
  bool is_short(double seconds) const;
};

// nodes: 0, or how many.
Scenario draw(Random& random, std::uint32_t nodes);

}  // namespace stage_model::simulation
