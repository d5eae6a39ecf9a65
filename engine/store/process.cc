#include "engine/store/process.h"

#include <linux/magic.h>
#include <signal.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>

namespace stage_model::store {
namespace {

constexpr long kXfsMagic = 0x58465342;
constexpr long kZfsMagic = 0x2fc12fc1;
constexpr long kF2fsMagic = static_cast<long>(0xf2f52010);

std::string read_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string link_text(const char* path) {
  std::array<char, 128> text{};
  const ssize_t length = ::readlink(path, text.data(), text.size());
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : std::string();
}

// Field 22 of /proc/PID/stat; the command in field 2 may hold anything, its end is the last ')'.
std::uint64_t start_time(const std::string& pid) {
  const std::string line = read_line("/proc/" + pid + "/stat");
  std::size_t at = line.rfind(')');
  if (at == std::string::npos) return 0;
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  if (at == std::string::npos) return 0;
  return std::strtoull(line.c_str() + at + 1, nullptr, 10);
}

}  // namespace

Process this_process() {
  Process process;
  process.pid = static_cast<std::uint64_t>(::getpid());
  process.started = start_time("self");
  process.boot = read_line("/proc/sys/kernel/random/boot_id");
  process.namespaces = link_text("/proc/self/ns/pid") + " " + link_text("/proc/self/ns/time");
  return process;
}

Life life_of(const Process& process, bool local) {
  const Process self = this_process();
  if (process.boot.empty() || self.boot.empty()) return Life::kUnknown;
  if (process.boot != self.boot) return local ? Life::kDead : Life::kUnknown;
  if (process.namespaces != self.namespaces) return Life::kUnknown;
  if (::kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH) return Life::kDead;
  // The number lives; is it the same process? Where /proc hides it, assume so.
  const std::uint64_t started = start_time(std::to_string(process.pid));
  if (process.started != 0 && started != 0 && started != process.started) return Life::kDead;
  return Life::kAlive;
}

bool local_file_system(int fd) {
  struct statfs fs = {};
  if (::fstatfs(fd, &fs) != 0) return false;
  switch (static_cast<long>(fs.f_type)) {
    case EXT4_SUPER_MAGIC:
    case kXfsMagic:
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case kZfsMagic:
    case kF2fsMagic:
      return true;
    default:
      return false;
  }
}

}  // namespace stage_model::store
