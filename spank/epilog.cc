#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "engine/base/text.h"
#include "spank/hooks.h"
#include "spank/job.h"
#include "spank/marker.h"
#include "spank/remove_directory.h"
#include "stage_model/record.h"

namespace stage_model::spank {
namespace {

constexpr double kRemovalLimit = 300;  // seconds for all of a job's directories

// Directories that jobs still on this node name. An unreadable record counts as naming everything.
struct Named {
  std::set<std::string> directories;
  bool everything = false;
};

Named named_by_others(const std::string& state_dir) {
  Named named;
  std::error_code error;
  for (std::filesystem::directory_iterator it(state_dir, error), end; !error && it != end;
       it.increment(error)) {
    const std::string job = it->path().filename().string();
    std::error_code ignored;
    if (!valid_job(job) || !it->is_directory(ignored)) continue;
    const auto record = read_record(state_dir, job);
    if (!record) named.everything = true;
    if (!record || !record->found) continue;
    for (const StagedModel& model : record->record.models) {
      named.directories.insert(model.directory);
    }
  }
  if (error) named.everything = true;
  return named;
}

bool related(const std::string& a, const std::string& b) {
  const std::string& shorter = a.size() < b.size() ? a : b;
  const std::string& longer = a.size() < b.size() ? b : a;
  return longer.compare(0, shorter.size(), shorter) == 0 &&
         (longer.size() == shorter.size() || longer[shorter.size()] == '/');
}

bool in_use(const std::string& state_dir, const std::string& directory) {
  const Named named = named_by_others(state_dir);
  return named.everything ||
         std::any_of(named.directories.begin(), named.directories.end(),
                     [&](const std::string& other) { return related(directory, other); });
}

void remove_staged(SlurmNode& slurm, const Config& config, const std::string& job,
                   const Record& record) {
  const auto limit = slurm.epilog_timeout();
  const double seconds = limit ? std::min(kRemovalLimit, *limit / 2) : kRemovalLimit;
  for (const StagedModel& model : record.models) {
    const std::string root = root_of(model.directory, config.roots);
    if (root.empty() || !normal_absolute_path(model.directory)) continue;  // no longer configured
    if (in_use(config.state_dir, model.directory)) continue;
    RemovalRequest request;
    request.root = root;
    request.path = model.directory.substr(root.size() + 1);
    request.hidden_name = ".stage-model-removed-" + job;
    request.uid = record.uid;
    request.gid = record.gid;
    request.limit_s = seconds / static_cast<double>(record.models.size());
    // A job that came in between has written its record before it looked at the directory.
    request.still_unused = [&] { return !in_use(config.state_dir, model.directory); };
    if (const Status status = remove_directory(request); !status) {
      slurm.error("job " + job + ": " + status.error().message);
    }
  }
}

}  // namespace

void run_epilog(SlurmNode& slurm, const PluginArguments& arguments) {
  if (!job_asked()) return;
  const auto identity = job_identity();
  if (!identity) return slurm.error(identity.error().message);
  const std::string job = std::to_string(identity->id);
  const auto loaded = config_on_node(arguments);
  if (!loaded) slurm.error(loaded.error().message);
  const Config config = loaded ? *loaded : Config{};
  const auto record = read_record(config.state_dir, job);
  // Our own record first: of two jobs that end at once, the later one sees no other and cleans up.
  if (const Status status = remove_record(config.state_dir, job); !status) {
    slurm.error(status.error().message);
  }
  unmark_job(arguments.jobs_dir, job);
  if (!loaded || config.keep != Keep::kJob || !record || !record->found) return;
  if (record->record.uid != identity->uid) return;
  remove_staged(slurm, config, job, record->record);
}

}  // namespace stage_model::spank
