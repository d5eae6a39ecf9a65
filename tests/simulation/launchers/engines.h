// Virtual engines: they go through MPI_Init's fences together, work, say that they are alive, and
// end together; what one of them meets, its peers notice, each in its own way.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/launch/coordinator.h"
#include "tests/simulation/launchers/cluster.h"

namespace stage_model::simulation {

class Engines {
 public:
  explicit Engines(Cluster& cluster) : cluster_(cluster) {}

  void start(Process* process, std::uint32_t run);
  void end(Process* process, bool at_once);
  void launcher_died(Process* process, bool power_off);  // it takes its engine with it
  void complete_fence(Process* process, std::uint64_t ticket, const std::string& data);
  void complete_modex(Process* process, std::uint64_t ticket, const std::string& data);
  void look_up(Process* process, std::uint64_t ask);

  bool runs(const Process* process) const;
  // Every node's engine of every run has ended well.
  bool all_done() const;

 private:
  enum class Step { kStart, kInit, kFence, kSubFence, kModex, kWork, kBarrier, kLastFence, kOver };
  struct Engine {
    Process* process = nullptr;
    std::uint32_t run = 0;
    bool alive = true;
    bool silent = false;
    bool stuck = false;  // goes no step further
    bool ending = false;
    bool hears = false;  // has noticed that a peer is gone
    Step step = Step::kStart;
    std::map<std::uint64_t, std::vector<std::uint32_t>> fences;  // ticket → members
    std::map<std::uint64_t, std::uint32_t> asks;                 // ticket → rank
  };
  using EnginePtr = std::shared_ptr<Engine>;

  void next(const EnginePtr& engine);
  void enter_fence(const EnginePtr& engine, std::vector<std::uint32_t> members);
  void ask(const EnginePtr& engine);
  void beat(const EnginePtr& engine);
  void say(const EnginePtr& engine, const launch::StatusEvent& event);
  void say(const EnginePtr& engine, launch::StatusEvent::Word word);
  void go(const EnginePtr& engine, int status, int signal);  // ends
  void break_peers(const EnginePtr& engine);
  bool has_fault(const EnginePtr& engine);
  void fail(const EnginePtr& engine, const Fault& fault);
  std::vector<std::uint32_t> some_members() const;
  static std::string contribution(std::uint32_t run, std::uint32_t node);

  Cluster& cluster_;
  std::map<std::uint32_t, EnginePtr>
      engines_;  // by the process' number: the order is the same in every run
  std::map<std::uint32_t, std::set<std::uint32_t>> at_barrier_;  // run → nodes
  std::map<std::uint32_t, std::set<std::uint32_t>> done_;        // run → nodes
  std::set<std::uint32_t> broken_;                               // runs in which a peer has gone
  std::uint64_t last_ticket_ = 0;
};

}  // namespace stage_model::simulation
