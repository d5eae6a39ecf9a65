#include "spank/step.h"

#include <unistd.h>

#include <string_view>

#include "spank/marker.h"
#include "spank/names.h"

namespace stage_model::spank {
namespace {

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

}  // namespace

void Step::end_with(ExitCode code, const std::string& why) {
  code_ = code == ExitCode::kStaged ? static_cast<int>(ExitCode::kStopped) : static_cast<int>(code);
  reason_ = why;
}

void Step::load(Slurm& slurm) {
  const std::string request = std::string(kStepPrefix) + kRequestVariable + "=";
  const std::string credential = std::string(kStepPrefix) + kCredentialPrefix;
  bool asked = flag_seen_;
  for (const std::string& item : slurm.job_environment()) {
    if (starts_with(item, request)) asked = true;
    if (starts_with(item, credential)) slurm.job_unsetenv(item.substr(0, item.find('=')));
  }

  const auto job = slurm.job_id();
  if (!job) return;
  // sbatch --export=NONE hides from a step that its job asked, so the node has to tell. A site
  // whose own scripts stage (prolog=off) makes no mark.
  if (!asked && arguments_.prolog) {
    const Mark mark = look_for_mark(arguments_.jobs_dir, std::to_string(*job));
    if (mark == Mark::kNone) return;
    asked = mark == Mark::kThere;  // else a record has to tell
  }
  const auto config = config_on_node(arguments_);
  if (!config && !asked) return;  // nothing of ours to do, and not this job's business
  // Without a usable file the prolog wrote its record to the default place.
  const std::string state_dir = config ? config->state_dir : Config{}.state_dir;
  const auto record = read_record(state_dir, std::to_string(*job));
  if (!record) return end_with(ExitCode::kStopped, record.error().message);
  if (record->found) return act_on(slurm, record->record);
  if (!asked) return;
  if (!config) return end_with(config.error().code, config.error().message);
  end_with(ExitCode::kUsage,
           "no model was staged on this node for this job. Either the flag came to a step of a "
           "running job (give it to sbatch or salloc), or slurmd runs without the plugin's prolog "
           "(the admin: PrologFlags=Alloc,DeferBatch, the plugin in plugstack.conf, slurmd "
           "restarted since)");
}

void Step::act_on(Slurm& slurm, const Record& record) {
  if (const auto uid = slurm.job_uid(); !uid || *uid != record.uid) {
    return end_with(ExitCode::kStopped, "the record of this job belongs to another user");
  }
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
