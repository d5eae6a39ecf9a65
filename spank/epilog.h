// slurmd, after the job: the record goes, and with keep = "job" what was staged. Idempotent, and
// fit to run where no prolog ran.
#pragma once

#include "spank/site.h"
#include "spank/slurm_seam.h"

namespace stage_model::spank {

void run_epilog(Slurm& slurm, const PluginArguments& arguments);

}  // namespace stage_model::spank
