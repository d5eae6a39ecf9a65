#include "spank/remove_directory.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "engine/base/fd.h"
#include "engine/base/text.h"
#include "spank/child.h"

namespace stage_model::spank {
namespace {

// Exit statuses of the children. An errno is at most 133.
constexpr int kDone = 0;
constexpr int kMissing = 200;

// The directory that holds `path`; nothing on the way may be a link or lead out of the root.
Fd open_parent(const std::string& root, const std::string& path) {
  const Fd base(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!base) return Fd();
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash);
  struct open_how how {};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return Fd(static_cast<int>(::syscall(SYS_openat2, base.get(), parent.c_str(), &how, sizeof how)));
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

int rename_beside(const RemovalRequest& request, const std::string& from, const std::string& to) {
  const Fd parent = open_parent(request.root, request.path);
  if (!parent) return errno == ENOENT ? kMissing : errno;
  // NOREPLACE: who has taken the place meanwhile keeps it.
  if (::renameat2(parent.get(), from.c_str(), parent.get(), to.c_str(), RENAME_NOREPLACE) != 0) {
    return errno == ENOENT ? kMissing : errno;
  }
  return kDone;
}

int remove_beside(const RemovalRequest& request, const std::string& name) {
  const Fd parent = open_parent(request.root, request.path);
  if (!parent) return errno == ENOENT ? kMissing : errno;
  // The descriptor pins the parent; below it libstdc++ walks with openat and O_NOFOLLOW.
  const std::string path = "/proc/self/fd/" + std::to_string(parent.get()) + "/" + name;
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error.value();
}

Status outcome(const RemovalRequest& request, int status) {
  if (status == kDone || status == kMissing) return {};
  const std::string path = request.root + "/" + request.path;
  return fail(
      ExitCode::kDestination,
      path + ": cannot be removed: " +
          (status < 0 ? "not done after " + std::to_string(static_cast<int>(request.limit_s)) +
                            " s, the rest is in " + request.hidden_name + " beside it"
                      : errno_text(status)));
}

}  // namespace

Status remove_directory(const RemovalRequest& request) {
  const std::string name = last_part(request.path);
  const std::string hidden = (request.hidden_name + "-" + name).substr(0, NAME_MAX);
  const auto as_user = [&](const std::function<int()>& body) {
    return run_as(request.uid, request.gid, request.limit_s, body);
  };
  // What an earlier epilog of this job left behind goes first, or it would be in the way.
  int status = as_user([&] { return remove_beside(request, hidden); });
  if (status != kDone && status != kMissing) return outcome(request, status);
  status = as_user([&] { return rename_beside(request, name, hidden); });
  if (status != kDone) return outcome(request, status);
  if (!request.still_unused()) {
    // Someone who stages there anew finds the place taken or free; either is fine.
    status = as_user([&] { return rename_beside(request, hidden, name); });
    if (status != EEXIST) return outcome(request, status);  // whoever uses it may hold it open
  }
  return outcome(request, as_user([&] { return remove_beside(request, hidden); }));
}

}  // namespace stage_model::spank
