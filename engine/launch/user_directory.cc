#include "engine/launch/user_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "engine/launch/peer_auth.h"

namespace stage_model::launch {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool good() const { return fd_ >= 0; }

 private:
  int fd_;
};

int open_beneath(int root, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, root, path.c_str(), &how, sizeof how));
}

tl::unexpected<Error> failure(const std::string& path, const std::string& what) {
  return fail(ExitCode::kDestination, fmt::format("user directory {}: {}", path, what));
}

Status check_existing(int root, const std::string& below, const std::string& directory, uid_t uid) {
  const Descriptor existing(open_beneath(root, below));
  if (!existing.good()) {
    const bool odd = errno == ENOTDIR || errno == ELOOP;
    return failure(directory,
                   odd ? "is in the way and not a directory; remove it" : std::strerror(errno));
  }
  struct stat info {};
  if (fstat(existing.get(), &info) != 0) return failure(directory, std::strerror(errno));
  if (info.st_uid != uid) {
    return failure(directory, fmt::format("belongs to uid {}, not to uid {}; remove it or give it "
                                          "to the user",
                                          info.st_uid, uid));
  }
  return {};
}

// Made under another name and renamed once it is the user's: a crash in between leaves no
// directory of root's under the final name, which would be refused ever after.
Status create(int parent, const std::string& name, const std::string& directory, uid_t uid,
              gid_t gid) {
  std::string temporary = "." + name + ".";
  for (const char c : random_bytes(8)) {
    temporary += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  if (mkdirat(parent, temporary.c_str(), S_IRWXU) != 0) {
    return failure(directory, std::strerror(errno));
  }
  const Descriptor made(
      openat(parent, temporary.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  int error = made.good() ? 0 : errno;
  if (error == 0 && fchmod(made.get(), S_IRWXU) != 0) error = errno;
  if (error == 0 && geteuid() == 0 && fchown(made.get(), uid, gid) != 0) error = errno;
  if (error == 0 &&
      renameat2(parent, temporary.c_str(), parent, name.c_str(), RENAME_NOREPLACE) != 0) {
    error = errno;
  }
  if (error == 0) return {};
  unlinkat(parent, temporary.c_str(), AT_REMOVEDIR);
  // Another job of the user's was faster.
  if (error == EEXIST) return check_existing(parent, name, directory, uid);
  return failure(directory, std::strerror(error));
}

}  // namespace

Status make_user_directory(const std::string& root, const std::string& directory, uid_t uid,
                           gid_t gid) {
  const std::string prefix = root.empty() || root.back() == '/' ? root : root + "/";
  std::string below = directory.rfind(prefix, 0) == 0 ? directory.substr(prefix.size()) : "";
  while (!below.empty() && below.back() == '/') below.pop_back();
  const std::size_t slash = below.rfind('/');
  const std::string name = slash == std::string::npos ? below : below.substr(slash + 1);
  if (root.empty() || name.empty() || name == "." || name == "..") {
    return failure(directory, fmt::format("does not lie below the root {}", root));
  }
  const Descriptor root_fd(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root_fd.good()) {
    return fail(ExitCode::kDestination,
                fmt::format("root directory {}: {}; create it, or correct [paths] roots in "
                            "stage_model.toml",
                            root, std::strerror(errno)));
  }
  const Descriptor parent(slash == std::string::npos
                              ? dup(root_fd.get())
                              : open_beneath(root_fd.get(), below.substr(0, slash)));
  if (!parent.good()) return failure(directory, std::strerror(errno));
  struct stat info {};
  if (fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    return check_existing(root_fd.get(), below, directory, geteuid() == 0 ? uid : geteuid());
  }
  return create(parent.get(), name, directory, geteuid() == 0 ? uid : geteuid(), gid);
}

}  // namespace stage_model::launch
