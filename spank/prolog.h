// slurmd, every node of the job, as root, before anything of the user's starts: runs the staging
// and leaves its outcome in the node's record. Never fails: that would drain the node.
#pragma once

#include "spank/site.h"
#include "spank/slurm_seam.h"

namespace stage_model::spank {

// Did the job ask for a model? The one thing that every job pays for.
bool prolog_is_asked();

void run_prolog(Slurm& slurm, const PluginArguments& arguments);

}  // namespace stage_model::spank
