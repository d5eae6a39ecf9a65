#include "spank/step.h"

#include <unistd.h>

#include <string_view>
#include <vector>

#include "spank/marker.h"
#include "stage_model/request.h"

namespace stage_model::spank {
namespace {

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

}  // namespace

// What the step's environment tells, which its user can forge or hide.
struct Step::Surroundings {
  bool asked = false;                    // the flag was given
  bool heterogeneous = false;            // ... maybe for another component
  bool has_default = false;              // $STAGE_MODEL
  std::vector<std::string> directories;  // names of variables that name one
};

Step::Surroundings Step::look_around(Slurm& slurm) const {
  const std::string request = std::string(kStepPrefix) + kRequestVariable + "=";
  const std::string credentials = std::string(kStepPrefix) + kCredentialsVariable;
  Surroundings seen;
  seen.asked = flag_seen_;
  for (const std::string& item : slurm.job_environment()) {
    const std::string name = item.substr(0, item.find('='));
    if (starts_with(item, request)) seen.asked = true;
    if (starts_with(item, "SLURM_HET_SIZE=")) seen.heterogeneous = true;
    if (name == kModelDefault && item.size() > name.size() + 1) seen.has_default = true;
    if (starts_with(name, kDirectoryVariable)) seen.directories.push_back(name);
    if (name == credentials) slurm.job_unsetenv(name);
  }
  return seen;
}

// No record, and no mark that there should be one.
void Step::leave_alone(Slurm& slurm, const Surroundings& seen) {
  if (seen.heterogeneous) {
    // srun hands the variables of one component to the steps of all.
    for (const std::string& name : seen.directories) slurm.job_unsetenv(name);
  }
  // A job that came by slurmrestd, or from a host without the plugin.
  if (seen.has_default && !seen.asked && slurm.is_batch_script()) {
    end_with(
        ExitCode::kUsage,
        "STAGE_MODEL is in the job's environment, but nothing was staged: it counts only where "
        "sbatch, salloc or srun with this plugin reads it (not with slurmrestd). Submit with "
        "sbatch --stage-model=URL, or unset STAGE_MODEL");
  }
}

void Step::end_with(ExitCode code, const std::string& why) {
  code_ = code == ExitCode::kStaged ? static_cast<int>(ExitCode::kStopped) : static_cast<int>(code);
  reason_ = why;
}

void Step::load(Slurm& slurm) {
  const Surroundings seen = look_around(slurm);
  const auto job = slurm.job_id();
  if (!job) return;
  bool asked = seen.asked && !seen.heterogeneous;
  // sbatch --export=NONE hides from a step that its job asked, and a component of a heterogeneous
  // job sees what the others asked for: the node has to tell. A site whose own scripts stage
  // (prolog=off) may make no mark.
  if (!asked && arguments_.prolog) {
    const Mark mark = look_for_mark(arguments_.jobs_dir, std::to_string(*job));
    if (mark == Mark::kNone) return leave_alone(slurm, seen);
    asked = mark == Mark::kThere;  // else a record has to tell
  }
  const auto config = config_on_node(arguments_);
  if (!config && !asked) return;  // nothing of ours to do, and not this job's business
  // Without a usable file the prolog wrote its record to the default place.
  const std::string state_dir = config ? config->state_dir : Config{}.state_dir;
  const auto record = read_record(state_dir, std::to_string(*job));
  if (!record) return end_with(ExitCode::kStopped, record.error().message);
  if (record->found) {
    const auto uid = slurm.job_uid();
    const bool own = uid && *uid == record->record.uid;
    if (own) return act_on(slurm, record->record);
    // An older job's of the same number, which no prolog has come across.
    if (!seen.asked) return leave_alone(slurm, seen);
    return end_with(ExitCode::kStopped, "the record of this job belongs to another user");
  }
  if (!asked) return leave_alone(slurm, seen);
  if (!config) return end_with(config.error().code, config.error().message);
  end_with(ExitCode::kUsage,
           "no model was staged on this node for this job. Either the flag came to a step of a "
           "running job (give it to sbatch or salloc), or slurmd runs without the plugin's prolog "
           "(the admin: PrologFlags=Alloc,DeferBatch, the plugin in plugstack.conf, slurmd "
           "restarted since)");
}

void Step::act_on(Slurm& slurm, const Record& record) {
  switch (record.state) {
    case RecordState::kPending:
      return end_with(ExitCode::kStopped, record.reason.empty()
                                              ? "the staging on this node did not come to an end"
                                              : record.reason);
    case RecordState::kFailed:
      return end_with(record.code, record.reason.empty()
                                       ? "the staging failed; slurmd's log says more"
                                   : record.node.empty() ? record.reason
                                                         : record.node + ": " + record.reason);
    case RecordState::kStaged:
      break;
  }
  if (record.models.empty()) return end_with(ExitCode::kStopped, "the record names no directory");
  slurm.job_setenv(kDirectoryVariable, record.models.front().directory);
  for (const StagedModel& model : record.models) {
    if (model.name.empty()) continue;
    slurm.job_setenv(std::string(kDirectoryVariable) + "_" + model.name, model.directory);
  }
}

int Step::verdict(Slurm& slurm) const {
  if (code_ == 0) return 0;
  // Every node speaks for itself: should nodes ever disagree, no failure stays without a word.
  if (slurm.local_task().value_or(0) == 0) slurm.tell_user(reason_);
  return code_;
}

}  // namespace stage_model::spank
