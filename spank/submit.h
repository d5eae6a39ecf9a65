// sbatch, salloc and srun: the flags are checked and the request is put where the prologs find it.
// Runs as the user, in the user's process.
#pragma once

#include <optional>
#include <string>

#include "spank/ask.h"
#include "spank/site.h"
#include "spank/slurm_seam.h"
#include "stage_model/result.h"

namespace stage_model::spank {

enum class Flag : int { kModel = 1, kDest, kInclude, kExclude };
const char* flag_name(Flag flag);  // with its dashes

class Submit {
 public:
  explicit Submit(PluginArguments arguments) : arguments_(std::move(arguments)) {}

  // One flag, as Slurm comes across it. Errors: kUsage, begins with the flag's name.
  Status flag(Slurm& slurm, Flag flag, const char* value);

  // After the last flag: environment defaults, what only the whole can show, and the hand-over.
  // Does nothing at all where no model was asked for.
  Status finish(Slurm& slurm);

 private:
  Result<const Site*> site();

  PluginArguments arguments_;
  std::optional<Site> site_;
  Ask ask_;
};

}  // namespace stage_model::spank
