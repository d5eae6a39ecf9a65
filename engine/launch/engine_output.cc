#include "engine/launch/engine_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "engine/base/text.h"

namespace stage_model::launch {
namespace {

constexpr std::size_t kKept = 4096;
constexpr std::size_t kShown = 200;

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

void Tail::add(std::string_view text) {
  text_ += text.substr(text.size() - std::min(text.size(), kKept));
  if (text_.size() > kKept) text_.erase(0, text_.size() - kKept);
}

std::string Tail::last_line() const {
  std::string_view rest(text_);
  while (!rest.empty()) {
    const std::size_t before = rest.rfind('\n');
    const std::string_view line = before == std::string_view::npos ? rest : rest.substr(before + 1);
    const bool says = std::any_of(line.begin(), line.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0;
    });
    if (says) return stage_model::one_line(line, kShown);
    rest = before == std::string_view::npos ? std::string_view() : rest.substr(0, before);
  }
  return {};
}

}  // namespace stage_model::launch
