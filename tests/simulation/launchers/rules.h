// What must hold, whatever goes wrong.
#pragma once

#include <string>

#include "tests/simulation/launchers/cluster.h"
#include "tests/simulation/launchers/scenario.h"

namespace stage_model::simulation {

class Engines;

// Seconds after which every launcher that lives must have ended, counted from its own start:
//   max(deadline, rendezvous timeout)              it is asked to end by then
//   + heartbeat timeout + 2 periods + what it was stopped for
//   + kGather or kActAlone                         to decide, or to be heard
//   + kill wait + unkillable_s + kLinger + kFlush   to end the engine and say goodbye
//   + a way through the tree and back
double longest_life(const Scenario& scenario);
double longest_run(const Scenario& scenario);  // of all of them, with those that come late

// Seconds from one thing going wrong, while the engines run, until all who live have concluded:
//   what it takes to notice: nothing for what is told; heartbeat timeout + 2 periods for a node or
//   a launcher that is silent, or a cut line; the stall timeout for an engine
//   + kGather + a way through the tree and back
double longest_to_conclude(const Scenario& scenario, const Fault& fault);

std::string text_of(const launch::Outcome& outcome);
void check_conclusion(Cluster& cluster, const Process& process, const Engines& engines);
void check_end(Cluster& cluster);
std::string ending(const Cluster& cluster);  // one of a few, to be counted

}  // namespace stage_model::simulation
