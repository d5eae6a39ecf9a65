#include "engine/store/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "engine/store/errors.h"

namespace stage_model::store {
namespace {

// The path of an open directory for interfaces that know no descriptors.
std::string through_proc(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

Fd open_beneath(int dir, const char* path, int flags, mode_t mode) {
  struct open_how how = {};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const long fd = ::syscall(SYS_openat2, dir, path, &how, sizeof how);
  if (fd >= 0) return Fd(static_cast<int>(fd));
  // Before 5.6, or in a container whose seccomp profile does not know the call yet.
  if (errno != ENOSYS && errno != EPERM) return Fd();
  return Fd(::openat(dir, path, flags | O_CLOEXEC | O_NOFOLLOW, mode));
}

int stat_at(int dir, const char* path, struct stat* out) {
  return ::fstatat(dir, path, out, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
}

int make_directories(int dir, std::string_view path) {
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = path.find('/', end + 1);
    const std::string part(path.substr(0, end));
    if (::mkdirat(dir, part.c_str(), 0755) == 0) {
      const Fd made = open_beneath(dir, part.c_str(), O_RDONLY | O_DIRECTORY);
      if (!made || ::fchmod(made.get(), 0755) != 0) return errno;
    } else if (errno != EEXIST) {
      return errno;
    } else if (end == std::string_view::npos) {
      struct stat st = {};
      if (const int error = stat_at(dir, part.c_str(), &st); error != 0) return error;
      if (!S_ISDIR(st.st_mode)) return ENOTDIR;
    }
  }
  return 0;
}

std::vector<std::string> list_directory(int dir) {
  std::vector<std::string> names;
  const int copy = ::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return names;
  DIR* stream = ::fdopendir(copy);
  if (stream == nullptr) {
    ::close(copy);
    return names;
  }
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(stream);
  return names;
}

Result<std::string> read_file(int dir, const char* path, std::uint64_t limit,
                              const std::string& shown) {
  // O_NONBLOCK: a fifo in place of the file must not hold us.
  const Fd fd = open_beneath(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat st = {};
  if (!fd || ::fstat(fd.get(), &st) != 0) return disk_error("read", shown, errno);
  if (!S_ISREG(st.st_mode)) return disk_error("read", shown, EINVAL);
  if (static_cast<std::uint64_t>(st.st_size) > limit) return disk_error("read", shown, EFBIG);
  std::string text(static_cast<std::size_t>(st.st_size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return disk_error("read", shown, errno);
    if (got == 0) break;  // shorter than it was a moment ago
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

Status write_file(int dir, const char* directory, const char* name, std::string_view text,
                  const std::string& shown) {
  const Fd place = open_beneath(dir, directory, O_RDONLY | O_DIRECTORY);
  if (!place) return disk_error("write", shown, errno);
  // The process id keeps two runs that save a report at once apart.
  const std::string temporary = ".new-" + std::to_string(::getpid());
  ::unlinkat(place.get(), temporary.c_str(), 0);
  const auto undo = [&](int error) {
    ::unlinkat(place.get(), temporary.c_str(), 0);
    return disk_error("write", shown, error);
  };
  const Fd file = open_beneath(place.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (!file) return disk_error("write", shown, errno);
  if (::fchmod(file.get(), 0644) != 0) return undo(errno);
  while (!text.empty()) {
    const ssize_t put = ::write(file.get(), text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return undo(errno);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  if (::fsync(file.get()) != 0) return undo(errno);
  if (::renameat(place.get(), temporary.c_str(), place.get(), name) != 0) return undo(errno);
  if (::fsync(place.get()) != 0) return disk_error("write", shown, errno);
  return {};
}

bool same_directory(int parent, const std::string& name, int dir) {
  struct stat a = {};
  struct stat b = {};
  return stat_at(parent, name.c_str(), &a) == 0 && ::fstat(dir, &b) == 0 && a.st_ino == b.st_ino &&
         a.st_dev == b.st_dev;
}

bool remove_tree(int parent, const std::string& name) {
  // Others may be at work in it: who published it takes its journal away or adds a report, and
  // another run removes it as well. remove_all gives up at the first entry that is gone before it.
  constexpr int kAttempts = 16;
  std::error_code error;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    // libstdc++ walks by descriptors and never follows a link.
    std::filesystem::remove_all(through_proc(parent) + "/" + name, error);
    if (!error) return true;
    if (error != std::errc::no_such_file_or_directory && error != std::errc::directory_not_empty) {
      return false;
    }
  }
  return false;
}

Usage tree_usage(int dir) {
  namespace fs = std::filesystem;
  Usage usage;
  std::error_code error;
  const std::string root = through_proc(dir) + "/.";
  for (fs::recursive_directory_iterator it(root, error), end; !error && it != end;
       it.increment(error)) {
    struct stat st = {};
    if (::lstat(it->path().c_str(), &st) != 0) continue;
    if (!S_ISDIR(st.st_mode) && st.st_nlink > 1) continue;
    usage.bytes += static_cast<std::uint64_t>(st.st_blocks) * 512;
    ++usage.files;
  }
  return usage;
}

}  // namespace stage_model::store
