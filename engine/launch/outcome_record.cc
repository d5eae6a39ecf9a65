#include "engine/launch/outcome_record.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "stage_model/record.h"

namespace stage_model::launch {

std::string write_outcome(const LaunchOrder& request, const Outcome& outcome, bool had_directory) {
  if (request.record_dir.empty()) return {};
  struct stat info {};
  if (had_directory && stat(request.record_dir.c_str(), &info) != 0) {
    return fmt::format("record directory {} has been removed; no record written",
                       request.record_dir);
  }
  const std::filesystem::path directory(request.record_dir);
  const std::string state_dir = directory.parent_path();
  const std::string job = directory.filename();
  Record record;
  if (const Result<MaybeRecord> old = read_record(state_dir, job); old && old->found) {
    record = old->record;
  }
  record.state = outcome.staged ? RecordState::kStaged : RecordState::kFailed;
  record.code = outcome.code;
  record.node = outcome.node;
  record.reason = outcome.reason;
  record.uid = request.uid;
  record.gid = request.gid;
  record.user = request.user;
  record.root = request.root;
  record.models.clear();
  for (const EngineCommand& run : request.runs) record.models.push_back({run.name, run.directory});
  if (const Status written = write_record(state_dir, job, record); !written) {
    return written.error().message;
  }
  return {};
}

}  // namespace stage_model::launch
