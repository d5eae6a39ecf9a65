// The engine's end of the status pipe to its launcher (include/stage_model/channel.h). Without a
// launcher every call does nothing. Main thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "stage_model/result.h"

namespace stage_model::report {

class StatusChannel {
 public:
  // Takes over the descriptor named in the environment, and removes the variable.
  StatusChannel();
  ~StatusChannel();
  StatusChannel(const StatusChannel&) = delete;
  StatusChannel& operator=(const StatusChannel&) = delete;

  void connected();
  void stage(std::string_view name);
  void alive(std::uint64_t done, std::uint64_t total);  // says so at most once a second
  void alive();                                         // the same, with the last numbers
  void failed(const Error& error, std::string_view node);
  void staged(const std::string& directory);

 private:
  void line(std::string text);

  int fd_ = -1;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace stage_model::report
