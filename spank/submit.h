// sbatch, salloc and srun: the flags are checked and the request is put where the prologs find it.
// Runs as the user, in the user's process.
#pragma once

#include <optional>
#include <string>

#include "spank/site.h"
#include "spank/slurm_seam.h"
#include "stage_model/request.h"
#include "stage_model/result.h"

namespace stage_model::spank {

enum class Flag : int { kModel = 1, kDest, kInclude, kExclude };
const char* flag_name(Flag flag);  // with its dashes

// Slurm hands a job's options to every srun and sbatch inside that job through the environment, as
// if they had been typed again. A step has no use for them (the record decides), and a job
// submitted from inside a job must not stage what its parent staged. To be called before Slurm
// looks there: in slurm_spank_init.
void forget_parent_job(Slurm& slurm);

class Submit {
 public:
  explicit Submit(PluginArguments arguments) : arguments_(std::move(arguments)) {}

  // One flag, as Slurm comes across it. Errors: kUsage, begins with the flag's name.
  Status flag(Slurm& slurm, Flag flag, const char* value);

  // After the last flag: environment defaults, what only the whole can show, and the hand-over.
  // Does nothing at all where no model was asked for. Of a heterogeneous job once per component,
  // after its own flags: each has its own models, or none.
  Status finish(Slurm& slurm);

 private:
  Result<const Site*> site();
  Status hand_over(Slurm& slurm, const std::string& credentials, const std::string& socket);
  void forget_component(Slurm& slurm);

  PluginArguments arguments_;
  std::optional<Site> site_;
  JobRequest request_;
  bool asked_before_ = false;  // an earlier component had a model
};

}  // namespace stage_model::spank
