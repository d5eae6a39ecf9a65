#include "engine/auth/patience.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <random>
#include <thread>

namespace stage_model::auth {
namespace {

constexpr double kMaxPause = 10;

bool not_now(const Result<ExchangeAnswer>& answer) {
  if (!answer) return answer.error().code == ExitCode::kTransfer;
  return answer->status == 429 || answer->status >= 500;
}

double asked_pause(const Result<ExchangeAnswer>& answer) {
  if (!answer) return 0;
  const auto header = answer->headers.find("retry-after");
  if (header == answer->headers.end()) return 0;
  unsigned seconds = 0;
  const std::string& text = header->second;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return std::min<double>(seconds, kMaxPause);
}

}  // namespace

Result<ExchangeAnswer> exchange_patiently(const Exchange& exchange, const ExchangeRequest& request,
                                          unsigned attempts, double first_pause_s) {
  thread_local std::minstd_rand random{std::random_device()()};
  double pause = first_pause_s;
  for (unsigned attempt = 1;; ++attempt) {
    Result<ExchangeAnswer> answer = exchange(request);
    if (!not_now(answer) || attempt >= attempts) return answer;
    const double spread = std::uniform_real_distribution<>(0.5, 1.5)(random);
    const double wait = std::max(asked_pause(answer), std::min(pause * spread, kMaxPause));
    std::this_thread::sleep_for(std::chrono::duration<double>(wait));
    pause *= 2;
  }
}

}  // namespace stage_model::auth
