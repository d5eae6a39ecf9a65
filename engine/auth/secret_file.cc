#include "engine/auth/secret_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "engine/base/variables.h"

namespace stage_model::auth {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;

tl::unexpected<Error> refuse(const std::string& path, std::string_view why) {
  return fail(ExitCode::kSource, fmt::format("{}: {}", path, why));
}

}  // namespace

Result<std::string> read_secret_file(const std::string& path) {
  // Without O_NONBLOCK a FIFO of that name would hold us for ever.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return fail(ExitCode::kUsage, path + ": there is no such file");
    }
    return refuse(path, std::generic_category().message(errno));
  }
  struct stat status {};
  std::string bytes;
  int error = 0;
  if (fstat(file, &status) != 0) error = errno;
  if (error == 0 && S_ISREG(status.st_mode)) {
    std::array<char, 4096> piece{};
    while (bytes.size() <= kMaxBytes) {
      const ssize_t got = read(file, piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) error = errno;
      if (got <= 0) break;
      bytes.append(piece.data(), static_cast<std::size_t>(got));
    }
  }
  close(file);
  if (error != 0) return refuse(path, std::generic_category().message(error));
  if (!S_ISREG(status.st_mode)) return refuse(path, "is not a regular file");
  if (bytes.size() > kMaxBytes) return refuse(path, "is larger than such a file can be");
  return bytes;
}

std::string home_directory(const Variables& variables) {
  if (const auto home = variables.find("HOME"); home != variables.end() && !home->second.empty()) {
    return home->second;
  }
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  if (getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return {};
  }
  return found->pw_dir;
}

}  // namespace stage_model::auth
