// One Fetch while its blocks are under way.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "stage_model/result.h"

namespace stage_model::source {

// Thread-safe.
struct WholeFetch {
  WholeFetch(std::function<void(Status)> callback, std::size_t blocks)
      : done(std::move(callback)), left(blocks) {}

  // The memory is in use until the last block has ended, however the first one ended: only then is
  // `done` called, with the first error.
  void block_done(Status status) {
    if (!status) {
      const std::lock_guard lock(mutex);
      if (result) result = std::move(status);
      *failed = true;
    }
    if (left.fetch_sub(1) == 1) done(std::move(result));
  }

  std::function<void(Status)> done;
  std::atomic<std::size_t> left;
  std::shared_ptr<std::atomic<bool>> failed = std::make_shared<std::atomic<bool>>(false);
  std::mutex mutex;
  Status result;  // under mutex until left is 0
};

}  // namespace stage_model::source
