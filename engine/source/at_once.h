// Small questions to a server, many at once. Header only.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace stage_model::source {

// Calls ask(i) for each i below `count`, on a few threads; returns when all are answered.
template <class Ask>
void ask_at_once(std::size_t count, const Ask& ask) {
  constexpr std::size_t kThreads = 16;
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) ask(i);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(kThreads, count); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace stage_model::source
