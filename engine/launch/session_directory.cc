#include "engine/launch/session_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace stage_model::launch {
namespace {

constexpr char kRootBase[] = "/run/stage-model-session";

tl::unexpected<Error> failure(const std::string& path) {
  return fail(ExitCode::kDestination,
              fmt::format("session directory {}: {}", path, std::strerror(errno)));
}

// /run is root's alone, so a name in it needs no luck.
Result<std::string> make_root_path(const std::string& name) {
  if (mkdir(kRootBase, S_IRWXU | S_IXGRP | S_IXOTH) != 0 && errno != EEXIST) {
    return failure(kRootBase);
  }
  struct stat info {};
  if (lstat(kRootBase, &info) != 0) return failure(kRootBase);
  if (!S_ISDIR(info.st_mode) || info.st_uid != 0 || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(ExitCode::kDestination,
                fmt::format("{} must be a directory that only root can change", kRootBase));
  }
  std::string path = std::string(kRootBase) + "/" + name;
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
  if (mkdir(path.c_str(), S_IRWXU | S_IXGRP | S_IXOTH) != 0) return failure(path);
  return path;
}

Result<std::string> make_own_path() {
  const char* base = std::getenv("TMPDIR");
  std::string path = std::string(base != nullptr && *base == '/' ? base : "/tmp") + "/stage.XXXXXX";
  if (mkdtemp(path.data()) == nullptr || chmod(path.c_str(), S_IRWXU | S_IXGRP | S_IXOTH) != 0) {
    return failure(path);
  }
  return path;
}

}  // namespace

Result<std::unique_ptr<SessionDirectory>> SessionDirectory::create(const std::string& job,
                                                                   std::uint32_t index, uid_t uid,
                                                                   gid_t gid) {
  // A container may have /run read-only.
  const bool use_run = geteuid() == 0 && access("/run", W_OK) == 0;
  const Result<std::string> path =
      use_run ? make_root_path(fmt::format("{}.{}", job, index)) : make_own_path();
  if (!path) return tl::unexpected(path.error());
  std::unique_ptr<SessionDirectory> directory(new SessionDirectory(*path));
  if (Status filled = directory->fill(uid, gid); !filled) return tl::unexpected(filled.error());
  return directory;
}

Status SessionDirectory::fill(uid_t uid, gid_t gid) const {
  // The mode says it, whatever the umask.
  if (mkdir(server().c_str(), S_IRWXU) != 0 ||
      chmod(server().c_str(), S_IRWXU | S_IXGRP | S_IXOTH) != 0) {
    return failure(server());
  }
  if (mkdir(user().c_str(), S_IRWXU) != 0) return failure(user());
  if (geteuid() == 0 && lchown(user().c_str(), uid, gid) != 0) return failure(user());
  return {};
}

SessionDirectory::~SessionDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace stage_model::launch
