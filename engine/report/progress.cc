#include "engine/report/progress.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "stage_model/units.h"

namespace stage_model::report {

Progress::~Progress() {
  if (drawn_) std::fputc('\n', stderr);
}

void Progress::update(std::uint64_t done, std::uint64_t total) {
  if (!on_ || total == 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (done < total && now - last_ < std::chrono::milliseconds(200)) return;
  if (done >= total && drawn_ && now - last_ < std::chrono::milliseconds(10)) return;
  last_ = now;
  drawn_ = true;
  constexpr int kWidth = 30;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  const int filled = static_cast<int>(share * kWidth);
  std::string bar(filled, '=');
  if (filled < kWidth) bar += '>';
  bar.resize(kWidth, ' ');
  const std::string left =
      rate > 0 ? fmt::format("{:.0f} s left", static_cast<double>(total - done) / rate) : "waiting";
  fmt::print(stderr, "\r[{}] {:3.0f} %  {} of {}  {}/s  {}   ", bar, share * 100, format_size(done),
             format_size(total), format_size(static_cast<std::uint64_t>(rate)), left);
  std::fflush(stderr);
}

}  // namespace stage_model::report
