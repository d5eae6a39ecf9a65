// stage-launch --check: tells an admin, on a node, what is not right.
#pragma once

#include "engine/launch/options.h"

namespace stage_model::launch {

// Prints "ok|warn|FAIL what: detail and what to do", one line per check. Returns 0, or 2 if
// anything fails. The only place that runs a Slurm command.
int check_node(const Options& options);

}  // namespace stage_model::launch
