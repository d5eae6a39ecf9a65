// Files that only root (or whoever runs the tests) may have written.
#pragma once

#include <string>

#include "stage_model/result.h"

namespace stage_model {

// Closes on destruction.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd();
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  int release();

 private:
  int fd_;
};

// strerror, thread-safe.
std::string errno_text(int error);

struct TrustedText {
  bool found = false;  // false: the file does not exist
  std::string text;
};

// Reads a regular file of at most `limit` bytes that belongs to root or the caller and is writable
// by nobody else. `follow`: the last component may be a link (configuration files often are).
Result<TrustedText> read_trusted_file(const std::string& path, std::size_t limit, bool follow,
                                      ExitCode code);

}  // namespace stage_model
