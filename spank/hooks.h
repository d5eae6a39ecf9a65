// slurmd, every node of the job, as root: before anything of the user's starts, and after the job.
// Run by the plugin's hooks and, where a site's own scripts stage, by stage-hook.
#pragma once

#include "spank/site.h"
#include "spank/slurm_seam.h"

namespace stage_model::spank {

// Runs the staging and leaves its outcome in the node's record. A job that asked for nothing pays
// for one look at the environment and one at the disk. Never fails: that would drain the node.
void run_prolog(SlurmNode& slurm, const PluginArguments& arguments);

// The record goes, and with keep = "job" what was staged. Idempotent, and fit to run where no
// prolog ran.
void run_epilog(SlurmNode& slurm, const PluginArguments& arguments);

// Did the job ask for a model?
bool job_asked();

}  // namespace stage_model::spank
