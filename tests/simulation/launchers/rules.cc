#include "tests/simulation/launchers/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/simulation/launchers/engines.h"

namespace stage_model::simulation {
namespace {

using launch::Coordinator;
using What = Fault::What;

double way(const Scenario& scenario) { return 4 * scenario.depth() * scenario.most_latency + 0.05; }

double stopped_for(const Scenario& scenario) {
  double sum = 0;
  for (const Fault& fault : scenario.faults) {
    if (fault.what == What::kHang || fault.what == What::kPause) sum += fault.seconds;
  }
  return sum;
}

bool judged(const Process& process) {
  // Who is stopped for ever has not ended, and who is dead says nothing.
  return !process.dead && !(process.hung && process.runs());
}

// Who has ended its part well and loses its parent before it hears that all have cannot know: it
// fails, and so the job does. Nobody else may differ.
bool in_doubt(const Cluster& cluster, const Process& process, const Fault& fault) {
  if (process.machine->outcome().staged || process.machine->outcome().node == "") return false;
  const auto& setup = cluster.scenario().setup;
  const launch::Tree tree(cluster.scenario().nodes, process.node, setup.star_limit, setup.fan_out);
  const std::vector<std::uint32_t> above = tree.ancestors(process.node);
  return std::find(above.begin(), above.end(), fault.node) != above.end();
}

// Where who is lost may come again, a launcher that has not heard that they have met waits for its
// parent until the end of the rendezvous.
bool still_looks(const Cluster& cluster, const Process& process) {
  return cluster.scenario().setup.may_return && process.next_run == 0;
}

// All who live, and were never stopped for long, say the same.
void check_same(const Cluster& cluster, const Fault& fault) {
  bool staged = false;
  for (const auto& process : cluster.processes) {
    staged |= judged(*process) && process->machine->outcome().staged;
  }
  const Process* first = nullptr;
  for (const auto& process : cluster.processes) {
    if (!judged(*process) || process->hung_long || still_looks(cluster, *process)) continue;
    if (staged && in_doubt(cluster, *process, fault)) continue;
    if (first == nullptr) first = process.get();
    if (process->machine->outcome() != first->machine->outcome()) {
      violated("n{} says {}, n{} says {}", first->node, text_of(first->machine->outcome()),
               process->node, text_of(process->machine->outcome()));
    }
  }
}

// One thing went wrong, while the engines ran: all who live name it, and soon.
void check_single_fault(const Cluster& cluster, const Fault& fault) {
  if (fault.what == What::kNoPlace && cluster.scenario().nodes > 1) {
    check_same(cluster, fault);
    const launch::Outcome& outcome = cluster.processes.front()->machine->outcome();
    if (outcome.node != fmt::format("n{}", fault.node)) {
      violated("all say {}, but the cause was {}", text_of(outcome), describe(fault));
    }
    return;
  }
  const bool met = cluster.first_start >= 0 && cluster.trouble_at > cluster.first_start;
  if (!met) return;
  switch (fault.what) {
    case What::kKill:
    case What::kPowerOff:
    case What::kCancel:
    case What::kCancelAll:
      break;
    case What::kHang:
      // Shorter, and some notice and some do not; what they say then is theirs.
      if (fault.seconds > 0 && fault.seconds < longest_to_conclude(cluster.scenario(), fault))
        return;
      break;
    default:
      if (!is_of_engine(fault)) return;
  }
  check_same(cluster, fault);
  const double limit = cluster.trouble_at + longest_to_conclude(cluster.scenario(), fault);
  for (const auto& process : cluster.processes) {
    if (!judged(*process) || process->hung_ever || still_looks(cluster, *process)) continue;
    const launch::Outcome& outcome = process->machine->outcome();
    if (outcome.staged) continue;  // it came after all was agreed
    if (process->concluded_at > limit) {
      violated(
          "n{} concludes after {:.3f} s; what went wrong at {:.3f} s must be known at {:.3f} s",
          process->node, process->concluded_at, cluster.trouble_at, limit);
    }
    const bool told_as_consequence =
        fault.what == What::kEngineAborts ||
        (fault.what == What::kEngineFails && (fault.code == 6 || fault.code == 8));
    const bool no_node = fault.what == What::kCancel || fault.what == What::kCancelAll;
    const std::string cause = no_node ? "" : fmt::format("n{}", fault.node);
    const bool own = fault.what == What::kHang && process->node == fault.node;
    if (!told_as_consequence && !own && outcome.node != cause) {
      violated("n{} says {}, but the cause was {}", process->node, text_of(outcome),
               describe(fault));
    }
  }
}

}  // namespace

double longest_life(const Scenario& scenario) {
  const Coordinator::Setup& setup = scenario.setup;
  const double period = scenario.period();
  return std::max(setup.deadline_s, setup.rendezvous_timeout_s) + setup.heartbeat_timeout_s +
         2 * period + stopped_for(scenario) +
         std::max(Coordinator::kGather, Coordinator::kActAlone) + setup.engine.kill_wait_s +
         setup.engine.unkillable_s + Coordinator::kLinger + Coordinator::kFlush + way(scenario);
}

double longest_run(const Scenario& scenario) {
  double last_start = 0.5;
  for (const Fault& fault : scenario.faults) {
    last_start += fault.at + fault.seconds;
  }
  return last_start + longest_life(scenario);
}

double longest_to_conclude(const Scenario& scenario, const Fault& fault) {
  const Coordinator::Setup& setup = scenario.setup;
  double notice = 0;
  if (fault.what == What::kPowerOff || fault.what == What::kHang) {
    notice = setup.heartbeat_timeout_s + 2 * scenario.period();
  } else if (fault.what == What::kEngineSilent) {
    notice = setup.engine.stall_timeout_s;
  }
  return notice + Coordinator::kGather + way(scenario);
}

std::string text_of(const launch::Outcome& outcome) {
  if (outcome.staged) return "staged";
  return fmt::format("failed ({}, {}: {})", static_cast<int>(outcome.code), outcome.node,
                     outcome.reason);
}

void check_conclusion(Cluster& cluster, const Process& process, const Engines& engines) {
  const bool garbage = std::any_of(cluster.processes.begin(), cluster.processes.end(),
                                   [](const auto& each) { return each->speaks_garbage; });
  if (process.machine->outcome().staged && !engines.all_done() && !garbage) {
    violated("n{} concludes that all is staged, and some engines have not ended well",
             process.node);
  }
  // The others may hear that all is agreed while their own report is on its way.
  if (process.machine->outcome().staged && process.node == 0 && process.knows_trouble) {
    violated("n0 concludes that all is staged, and knows that something is wrong");
  }
}

void check_end(Cluster& cluster) {
  const Scenario& scenario = cluster.scenario();
  bool twice = false;
  for (const Fault& fault : scenario.faults) twice |= fault.what == What::kTwice;
  for (const auto& process : cluster.processes) {
    if (!judged(*process)) continue;
    if (!process->ended) {
      violated("n{} has not ended after {:.1f} s, and nothing will happen", process->node,
               cluster.seconds() - process->started_at);
    }
    if (process->ended_at - process->started_at > longest_life(scenario)) {
      violated("n{} lived for {:.3f} s, more than {:.3f} s", process->node,
               process->ended_at - process->started_at, longest_life(scenario));
    }
    if (process->records != 1) violated("n{} wrote {} records", process->node, process->records);
  }
  // Two that hear of each other, to whom and between whom nothing happened, say the same.
  for (const auto& connection : cluster.connections) {
    const Process& child = *connection->ends[0];
    const Process& parent = *connection->ends[1];
    if (!connection->established || connection->faulty || !judged(child) || !judged(parent))
      continue;
    if (child.machine->outcome() != parent.machine->outcome()) {
      violated("n{} says {}, its parent n{} says {}", child.node, text_of(child.machine->outcome()),
               parent.node, text_of(parent.machine->outcome()));
    }
  }
  if (!cluster.interfered && !scenario.endless && !twice) {
    for (const auto& process : cluster.processes) {
      if (!process->machine->outcome().staged) {
        violated("n{} says {}, and nothing has gone wrong", process->node,
                 text_of(process->machine->outcome()));
      }
    }
  }
  // An endless run has its deadline to end by as well.
  if (scenario.faults.size() == 1 && !scenario.endless)
    check_single_fault(cluster, scenario.faults.front());
}

std::string ending(const Cluster& cluster) {
  bool staged = false;
  bool failed = false;
  for (const auto& process : cluster.processes) {
    // A second one that was never let in has no part in it.
    if (!judged(*process) || (process->second && process->links.empty())) continue;
    (process->machine->outcome().staged ? staged : failed) = true;
  }
  if (staged && failed) return "staged, and failed on who was cut off before it heard so";
  return staged ? "staged" : failed ? "failed" : "nobody lives";
}

}  // namespace stage_model::simulation
