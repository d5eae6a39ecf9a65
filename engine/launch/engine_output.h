// What the engine prints, on this node: kept for whoever looks into a failure, and bounded, since
// the engine is the user's process and the file lies on the node's own disk or memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stage_model::launch {

class LogFile {
 public:
  static constexpr std::size_t kLimit = std::size_t{1} << 20;

  // "" or a path that cannot be opened: everything is dropped.
  explicit LogFile(const std::string& path, std::size_t limit = kLimit);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  void write(std::string_view text);
  bool is_open() const { return fd_ >= 0; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::size_t left_;
  int fd_ = -1;
};

// The end of what it printed, for a message of one line. Bounded, whatever it prints.
class Tail {
 public:
  void add(std::string_view text);
  // The last line with letters or digits in it (not a rule of dashes), printable, at most 200
  // bytes; "" if there is none.
  std::string last_line() const;

 private:
  std::string text_;
};

}  // namespace stage_model::launch
