#include "spank/marker.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "engine/contract/secure_file.h"

namespace stage_model::spank {

Status mark_job(const std::string& directory, const std::string& job) {
  for (const std::string& path : {directory, directory + "/" + job}) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail(ExitCode::kDestination, path + ": cannot be made: " + errno_text(errno));
    }
  }
  return {};
}

bool is_marked(const std::string& directory, const std::string& job) {
  struct stat info = {};
  const std::string path = directory + "/" + job;
  // Whatever else stands in the way, the step looks closer.
  return ::lstat(path.c_str(), &info) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

void unmark_job(const std::string& directory, const std::string& job) {
  ::rmdir((directory + "/" + job).c_str());
}

}  // namespace stage_model::spank
