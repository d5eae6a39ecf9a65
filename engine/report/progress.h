// A bar on stderr: "[=====>    ]  52 %  1.2 GiB of 2.3 GiB  820 MiB/s  1 s left".
#pragma once

#include <chrono>
#include <cstdint>

namespace stage_model::report {

class Progress {
 public:
  explicit Progress(bool on) : on_(on) {}
  ~Progress();  // ends the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::uint64_t done, std::uint64_t total);  // draws at most five times a second

 private:
  bool on_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace stage_model::report
