#include "engine/report/status_channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "stage_model/channel.h"

namespace stage_model::report {

StatusChannel::StatusChannel() {
  const char* text = std::getenv(kStatusFdVariable);
  if (text == nullptr) return;
  int fd = -1;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), fd);
  if (error == std::errc() && *end == '\0' && fd > 2 && fcntl(fd, F_GETFD) >= 0) {
    fd_ = fd;
    fcntl(fd_, F_SETFD, FD_CLOEXEC);
    // A launcher that stopped reading must not stop us: a full pipe loses lines instead.
    fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  unsetenv(kStatusFdVariable);
}

StatusChannel::~StatusChannel() {
  if (fd_ >= 0) close(fd_);
}

void StatusChannel::line(std::string text) {
  if (fd_ < 0) return;
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() > kMaxStatusLine - 1) text.resize(kMaxStatusLine - 1);
  text += '\n';
  // Up to PIPE_BUF (4,096 on Linux) a write is whole or nothing.
  [[maybe_unused]] const ssize_t written = write(fd_, text.data(), text.size());
}

void StatusChannel::connected() { line("connected"); }

void StatusChannel::stage(std::string_view name) { line(fmt::format("stage {}", name)); }

void StatusChannel::alive(std::uint64_t done, std::uint64_t total) {
  done_ = done;
  total_ = total;
  alive();
}

void StatusChannel::alive() {
  if (fd_ < 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::seconds(1)) return;
  last_ = now;
  line(fmt::format("alive {} {}", done_, total_));
}

void StatusChannel::failed(const Error& error, std::string_view node) {
  line(fmt::format("failed {} {} {}", static_cast<int>(error.code), node.empty() ? "-" : node,
                   error.message));
}

void StatusChannel::staged(const std::string& directory) { line("staged " + directory); }

}  // namespace stage_model::report
