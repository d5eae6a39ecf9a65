// The short-lived directory that PMIx's server and MPI's session files live in.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "stage_model/result.h"

namespace stage_model::launch {

// BASE/JOB.INDEX with two parts: `server`, the launcher's, and `user`, 0700 and the user's. Short,
// since a socket's path has 108 bytes. Removed with everything in it by the destructor, and what a
// killed launcher left under that name by the next one.
class SessionDirectory {
 public:
  // Root, where /run can be written: below /run/stage-model-session; else below $TMPDIR or /tmp,
  // with a random name. Errors: kDestination, naming the path.
  static Result<std::unique_ptr<SessionDirectory>> create(const std::string& job,
                                                          std::uint32_t index, uid_t uid,
                                                          gid_t gid);
  ~SessionDirectory();
  SessionDirectory(const SessionDirectory&) = delete;
  SessionDirectory& operator=(const SessionDirectory&) = delete;

  std::string server() const { return path_ + "/s"; }
  std::string user() const { return path_ + "/u"; }

 private:
  explicit SessionDirectory(std::string path) : path_(std::move(path)) {}
  Status fill(uid_t uid, gid_t gid) const;

  std::string path_;
};

}  // namespace stage_model::launch
