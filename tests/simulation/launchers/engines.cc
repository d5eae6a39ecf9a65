#include "tests/simulation/launchers/engines.h"

#include <csignal>
#include <utility>

namespace stage_model::simulation {

using launch::StatusEvent;
using What = Fault::What;

bool Engines::runs(const Process* process) const {
  const auto found = engines_.find(process->number);
  return found != engines_.end() && found->second->alive;
}

bool Engines::all_done() const {
  for (std::uint32_t run = 0; run < cluster_.scenario().setup.runs; ++run) {
    const auto done = done_.find(run);
    if (done == done_.end() || done->second.size() < cluster_.scenario().nodes) return false;
  }
  return true;
}

std::string Engines::contribution(std::uint32_t run, std::uint32_t node) {
  return fmt::format("{}.{};", node, run);
}

std::vector<std::uint32_t> Engines::some_members() const {
  std::vector<std::uint32_t> members;
  for (std::uint32_t node = 0; node < cluster_.scenario().nodes; node += 2) members.push_back(node);
  return members;
}

void Engines::start(Process* process, std::uint32_t run) {
  if (runs(process)) violated("n{}: an engine is started while another runs", process->node);
  if (static_cast<int>(run) != process->next_run) {
    violated("n{}: run {} is started, expected {}", process->node, run, process->next_run);
  }
  ++process->next_run;
  if (cluster_.first_start < 0) cluster_.first_start = cluster_.seconds();
  for (const Fault& fault : cluster_.scenario().faults) {
    if (fault.what != What::kEngineCannotStart || fault.node != process->node || fault.run != run) {
      continue;
    }
    cluster_.interfered = true;
    if (cluster_.trouble_at < 0) cluster_.trouble_at = cluster_.seconds();
    process->machine->engine_not_started(cluster_.seconds(), {ExitCode::kStopped, "no exec"});
    return;
  }
  process->machine->engine_started(cluster_.seconds());
  auto engine = std::make_shared<Engine>();
  engine->process = process;
  engine->run = run;
  engines_[process->number] = engine;
  cluster_.trace("n{}: engine of run {} starts", process->node, run);
  cluster_.after(cluster_.random().real(0.01, 0.2), [this, engine] { next(engine); });
}

bool Engines::has_fault(const EnginePtr& engine) {
  for (const Fault& fault : cluster_.scenario().faults) {
    if (!is_of_engine(fault) || fault.what == What::kEngineCannotStart ||
        fault.what == What::kEngineUnkillable || fault.node != engine->process->node ||
        fault.run != engine->run) {
      continue;
    }
    fail(engine, fault);
    return true;
  }
  return false;
}

void Engines::next(const EnginePtr& engine) {
  if (!engine->alive || engine->stuck || engine->ending) return;
  const Scenario& scenario = cluster_.scenario();
  const auto later = [this, engine](double seconds) {
    cluster_.after(seconds, [this, engine] { next(engine); });
  };
  switch (engine->step) {
    case Step::kStart:
      engine->step = Step::kInit;
      if (!scenario.early_modex) return later(0);
      ask(engine);
      return;
    case Step::kInit:
      engine->step = Step::kFence;
      enter_fence(engine, {});
      return;
    case Step::kFence: {
      engine->step = Step::kSubFence;
      say(engine, StatusEvent::Word::kConnected);
      beat(engine);
      const std::vector<std::uint32_t> members = some_members();
      if (scenario.sub_fence && engine->process->node % 2 == 0) {
        enter_fence(engine, members);
      } else {
        later(0);
      }
      return;
    }
    case Step::kSubFence: {
      engine->step = Step::kModex;
      if (!scenario.modex) return later(0);
      ask(engine);
      return;
    }
    case Step::kModex:
      engine->step = Step::kWork;
      if (!scenario.endless) later(scenario.work_s * cluster_.random().real(0.5, 1));
      return;
    case Step::kWork: {
      if (has_fault(engine)) return;
      engine->step = Step::kBarrier;
      auto& waiting = at_barrier_[engine->run];
      waiting.insert(engine->process->node);
      if (waiting.size() < scenario.nodes) return;
      for (const auto& [number, other] : engines_) {
        if (other->run == engine->run && other->alive && other->step == Step::kBarrier) {
          const double delay = cluster_.random().real(0, 0.01);
          cluster_.after(delay, [this, other = other] { next(other); });
        }
      }
      return;
    }
    case Step::kBarrier:
      engine->step = Step::kLastFence;
      say(engine, StatusEvent::Word::kStaged);
      enter_fence(engine, {});
      return;
    case Step::kLastFence:
      engine->step = Step::kOver;
      cluster_.tell(engine->process, [engine] { engine->process->machine->finalized(); });
      done_[engine->run].insert(engine->process->node);
      if (engine->run + 1 == scenario.setup.runs) cluster_.inject_when(Fault::When::kDone);
      go(engine, 0, 0);
      return;
    case Step::kOver:
      return;
  }
}

void Engines::ask(const EnginePtr& engine) {
  const auto rank = static_cast<std::uint32_t>(cluster_.random().below(cluster_.scenario().nodes));
  const std::uint64_t ticket = ++last_ticket_;
  engine->asks[ticket] = rank;
  cluster_.tell(engine->process, [this, engine, ticket, rank] {
    engine->process->machine->asked_modex(cluster_.seconds(), ticket, rank);
  });
}

void Engines::enter_fence(const EnginePtr& engine, std::vector<std::uint32_t> members) {
  const std::uint64_t ticket = ++last_ticket_;
  engine->fences[ticket] = members;
  cluster_.tell(engine->process, [this, engine, ticket, members = std::move(members)] {
    if (!engine->alive) return;
    engine->process->machine->entered_fence(cluster_.seconds(), ticket, members,
                                            contribution(engine->run, engine->process->node));
  });
}

void Engines::complete_fence(Process* process, std::uint64_t ticket, const std::string& data) {
  const auto found = engines_.find(process->number);
  if (found == engines_.end()) violated("n{}: a fence without an engine", process->node);
  const EnginePtr engine = found->second;
  const auto fence = engine->fences.find(ticket);
  if (fence == engine->fences.end()) {
    violated("n{}: fence {} is completed twice, or was never entered", process->node, ticket);
  }
  std::string expected;
  if (fence->second.empty()) {
    for (std::uint32_t node = 0; node < cluster_.scenario().nodes; ++node) {
      expected += contribution(engine->run, node);
    }
  } else {
    for (const std::uint32_t node : fence->second) expected += contribution(engine->run, node);
  }
  bool garbage = false;
  for (const auto& other : cluster_.processes) garbage |= other->speaks_garbage;
  if (data != expected && !garbage) {
    violated("n{}: a fence brings {} bytes ({}…), expected {}", process->node, data.size(),
             data.substr(0, 100), expected.size());
  }
  engine->fences.erase(fence);
  cluster_.after(0.0001, [this, engine] { next(engine); });
}

void Engines::look_up(Process* process, std::uint64_t ask) {
  cluster_.after(0.0005, [this, process, ask] {
    cluster_.tell(process, [this, process, ask] {
      process->machine->published(cluster_.seconds(), ask, 0,
                                  fmt::format("card {}", process->node));
    });
  });
}

void Engines::complete_modex(Process* process, std::uint64_t ticket, const std::string& data) {
  const auto found = engines_.find(process->number);
  const bool asked = found != engines_.end() && found->second->asks.count(ticket) != 0;
  if (!asked) violated("n{}: an answer to what was not asked", process->node);
  const EnginePtr engine = found->second;
  bool garbage = false;
  for (const auto& other : cluster_.processes) garbage |= other->speaks_garbage;
  if (data != fmt::format("card {}", engine->asks[ticket]) && !garbage) {
    violated("n{}: asked for card {}, got {}", process->node, engine->asks[ticket], data);
  }
  engine->asks.erase(ticket);
  cluster_.after(0.0001, [this, engine] { next(engine); });
}

void Engines::say(const EnginePtr& engine, const StatusEvent& event) {
  cluster_.tell(engine->process, [this, engine, event] {
    engine->process->machine->engine_said(cluster_.seconds(), event);
  });
}

void Engines::say(const EnginePtr& engine, StatusEvent::Word word) {
  StatusEvent event;
  event.word = word;
  say(engine, event);
}

void Engines::beat(const EnginePtr& engine) {
  if (!engine->alive || engine->silent) return;
  say(engine, StatusEvent::Word::kAlive);
  cluster_.after(cluster_.scenario().setup.engine.stall_timeout_s / 3,
                 [this, engine] { beat(engine); });
}

void Engines::fail(const EnginePtr& engine, const Fault& fault) {
  cluster_.trace("n{}: {}", engine->process->node, describe(fault));
  cluster_.interfered = true;
  if (cluster_.trouble_at < 0) cluster_.trouble_at = cluster_.seconds();
  engine->stuck = true;
  switch (fault.what) {
    case What::kEngineFails: {
      StatusEvent event;
      event.word = StatusEvent::Word::kFailed;
      event.code = static_cast<ExitCode>(fault.code);
      event.text = "its own reason";
      say(engine, event);
      go(engine, fault.code, 0);
      break;
    }
    case What::kEngineExits:
      go(engine, fault.code, 0);
      break;
    case What::kEngineKilled:
      go(engine, 0, SIGKILL);
      break;
    case What::kEngineAborts:
      cluster_.tell(engine->process, [this, engine] {
        engine->process->machine->aborted(cluster_.seconds(), 9, "abort", "");
      });
      go(engine, 9, 0);
      break;
    case What::kEngineSilent:
      engine->silent = true;
      return;
    case What::kEngineNotStaged:
      cluster_.tell(engine->process, [engine] { engine->process->machine->finalized(); });
      go(engine, 0, 0);
      break;
    default:  // without MPI_Finalize
      say(engine, StatusEvent::Word::kStaged);
      go(engine, 0, 0);
      break;
  }
  break_peers(engine);
}

// A peer that goes in the middle takes some others with it, and leaves some waiting for ever.
void Engines::break_peers(const EnginePtr& engine) {
  if (!broken_.insert(engine->run).second) return;
  for (const auto& [number, other] : engines_) {
    if (other == engine || other->run != engine->run || !other->alive) continue;
    const double kind = cluster_.random().fraction();
    if (kind < 0.4 || other->step == Step::kOver) continue;
    cluster_.after(cluster_.random().real(0.002, 0.15), [this, other = other, kind] {
      if (!other->alive || other->ending) return;
      other->stuck = true;
      if (kind < 0.7) {
        StatusEvent event;
        event.word = StatusEvent::Word::kFailed;
        event.code = ExitCode::kFabric;
        event.text = "a peer is gone";
        say(other, event);
      } else {
        cluster_.tell(other->process, [this, other] {
          other->process->machine->aborted(cluster_.seconds(), 1, "a peer is gone", "");
        });
      }
      go(other, 6, 0);
    });
  }
}

void Engines::go(const EnginePtr& engine, int status, int signal) {
  if (!engine->alive) return;
  engine->alive = false;
  cluster_.trace("n{}: engine of run {} ends: status {}, signal {}", engine->process->node,
                 engine->run, status, signal);
  cluster_.tell(engine->process, [this, engine, status, signal] {
    const auto current = engines_.find(engine->process->number);
    if (current == engines_.end() || current->second != engine) return;
    engine->process->machine->engine_ended(cluster_.seconds(), {status, signal, ""});
  });
}

void Engines::end(Process* process, bool at_once) {
  const auto found = engines_.find(process->number);
  if (found == engines_.end() || !found->second->alive) return;
  const EnginePtr engine = found->second;
  if (cluster_.unkillable.count(process->node) != 0) return;
  const bool obeys = at_once || cluster_.random().chance(0.7);
  if (!obeys) return;
  engine->ending = true;
  cluster_.after(cluster_.random().real(0.0005, 0.05),
                 [this, engine, at_once] { go(engine, 0, at_once ? SIGKILL : SIGTERM); });
}

void Engines::launcher_died(Process* process, bool power_off) {
  const auto found = engines_.find(process->number);
  if (found == engines_.end() || !found->second->alive) return;
  found->second->alive = false;
  found->second->stuck = true;
  if (!power_off) break_peers(found->second);
}

}  // namespace stage_model::simulation
