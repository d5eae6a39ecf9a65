#include "engine/launch/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace stage_model::launch {
namespace {

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(fd, text.data(), text.size());
    if (put > 0) {
      text.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno != EINTR) {
      return;  // a full disk must not end a staging
    }
  }
}

}  // namespace

LogFile::LogFile(const std::string& path, std::size_t limit) : path_(path), left_(limit) {
  if (path.empty()) return;
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
             S_IRUSR | S_IWUSR);
}

LogFile::~LogFile() {
  if (fd_ >= 0) close(fd_);
}

void LogFile::write(std::string_view text) {
  if (fd_ < 0 || left_ == 0 || text.empty()) return;
  const std::string_view fits = text.substr(0, left_);
  write_all(fd_, fits);
  left_ -= fits.size();
  if (left_ == 0) write_all(fd_, "\n[the log ends here: its limit is reached]\n");
}

}  // namespace stage_model::launch
