#include "engine/contract/secure_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "engine/base/fd.h"
#include "engine/base/text.h"

namespace stage_model {

Result<TrustedText> read_trusted_file(const std::string& path, std::size_t limit, bool follow,
                                      ExitCode code) {
  // O_NONBLOCK: a fifo in the file's place must not stop us for ever.
  const Fd file(::open(path.c_str(),
                       O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW)));
  if (!file) {
    if (errno == ENOENT) return TrustedText{};
    return fail(code, path + ": cannot be opened: " + errno_text(errno));
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return fail(code, path + ": " + errno_text(errno));
  if (!S_ISREG(info.st_mode)) return fail(code, path + ": is not a regular file");
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) {
    return fail(code, path + ": belongs to uid " + std::to_string(info.st_uid) +
                          ", not to root: chown root it");
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(code, path + ": is writable by group or others: chmod go-w it");
  }
  if (static_cast<std::uint64_t>(info.st_size) > limit) {
    return fail(code, path + ": is larger than " + std::to_string(limit) + " bytes");
  }
  TrustedText result{true, {}};
  while (result.text.size() <= limit) {
    char buffer[16384];
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(code, path + ": cannot be read: " + errno_text(errno));
    if (count == 0) return result;
    result.text.append(buffer, static_cast<std::size_t>(count));
  }
  return fail(code, path + ": is larger than " + std::to_string(limit) + " bytes");
}

}  // namespace stage_model
