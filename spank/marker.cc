#include "spank/marker.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/text.h"

namespace stage_model::spank {

Status mark_job(const std::string& directory, const std::string& job) {
  for (const std::string& path : {directory, std::string(directory).append("/").append(job)}) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail(ExitCode::kDestination,
                  std::string(path).append(": cannot be made: ").append(errno_text(errno)));
    }
  }
  return {};
}

Mark look_for_mark(const std::string& directory, const std::string& job) {
  struct stat info = {};
  const std::string path = directory + "/" + job;
  if (::lstat(path.c_str(), &info) == 0) return Mark::kThere;
  return errno == ENOENT || errno == ENOTDIR ? Mark::kNone : Mark::kUnknown;
}

void unmark_job(const std::string& directory, const std::string& job) {
  ::rmdir((directory + "/" + job).c_str());
}

}  // namespace stage_model::spank
