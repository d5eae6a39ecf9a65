// The per-job record on a node: STATE_DIR/JOBID/record, TOML, root, directory 0700. Written
// `pending` before the launcher starts, so that a crash fails closed; then staged or failed.
// It is the truth that steps act on (a step's own option can be forged by its user).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "stage_model/exit_code.h"
#include "stage_model/result.h"

namespace stage_model {

enum class RecordState { kPending, kStaged, kFailed };

struct StagedModel {
  std::string name;       // "" for an unnamed one
  std::string directory;  // absolute
};

struct Record {
  static constexpr int kFormat = 1;
  RecordState state = RecordState::kPending;
  ExitCode code = ExitCode::kStopped;  // meaningful for kFailed
  std::string node;                    // where the first cause was seen; may be empty
  std::string reason;                  // one line for the user; may be empty unless kFailed
  std::string user;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string root;                    // the configured root that the directories lie below
  std::vector<StagedModel> models;
};

std::string record_path(const std::string& state_dir, const std::string& job);

// Atomic (temporary name, fsync, rename) and 0600; creates the directory 0700. Errors: kDestination.
Status write_record(const std::string& state_dir, const std::string& job, const Record& record);

// A missing record is an ok result with no value set. Errors: kStopped for an unreadable one.
struct MaybeRecord {
  bool found = false;
  Record record;
};
Result<MaybeRecord> read_record(const std::string& state_dir, const std::string& job);

// Removes STATE_DIR/JOB and everything in it; missing is fine.
Status remove_record(const std::string& state_dir, const std::string& job);

}  // namespace stage_model
