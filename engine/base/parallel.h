// The same step for many items on a few threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "engine/base/mutex.h"
#include "stage_model/result.h"

namespace stage_model {

// Calls step(i) for every i below `count`, in no order, on up to `threads` threads; returns when
// all have ended. After a failure no new item is begun; the first failure is the result. Neighbours
// go to the same thread in blocks: files of one directory contend less for its lock.
template <class Step>
Status parallel_for(std::size_t count, unsigned threads, const Step& step) {
  const std::size_t block =
      std::clamp<std::size_t>(count / (std::size_t{16} * std::max(threads, 1U)), 1, 256);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  Mutex mutex;
  Status result;
  const auto work = [&] {
    while (!failed) {
      const std::size_t begin = next.fetch_add(block);
      if (begin >= count) return;
      const std::size_t end = std::min(count, begin + block);
      for (std::size_t i = begin; i < end && !failed; ++i) {
        if (Status status = step(i); !status) {
          const MutexLock lock(mutex);
          if (!failed.exchange(true)) result = std::move(status);
        }
      }
    }
  };
  const std::size_t helpers = std::min<std::size_t>(std::max(threads, 1U) - 1, count / block);
  std::vector<std::thread> pool;
  for (std::size_t i = 0; i < helpers; ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  return result;
}

}  // namespace stage_model
