// slurmstepd: what the node's record says is done to the step. Loaded as root, acted on as the
// user.
#pragma once

#include <string>

#include "spank/site.h"
#include "spank/slurm_seam.h"
#include "stage_model/record.h"

namespace stage_model::spank {

class Step {
 public:
  explicit Step(PluginArguments arguments) : arguments_(std::move(arguments)) {}

  // The flag came along with the step (which its user can forge or hide: the record decides).
  void flag_seen() { flag_seen_ = true; }

  // In init_post_opt, as root: reads the record, sets STAGE_MODEL_DIR, takes secrets out of the
  // step's environment. Never fails: an error there would drain the node.
  void load(Slurm& slurm);

  // In task_init, in every task: 0, or the code to end the task with. The node's first task has
  // then told the user why.
  int verdict(Slurm& slurm) const;

 private:
  struct Surroundings;
  Surroundings look_around(Slurm& slurm) const;
  void leave_alone(Slurm& slurm, const Surroundings& seen);
  void end_with(ExitCode code, const std::string& why);
  void act_on(Slurm& slurm, const Record& record);

  PluginArguments arguments_;
  bool flag_seen_ = false;
  int code_ = 0;
  std::string reason_;
};

}  // namespace stage_model::spank
