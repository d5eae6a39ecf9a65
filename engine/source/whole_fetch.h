// One Fetch while its blocks are under way.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "engine/base/mutex.h"
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
      const MutexLock lock(mutex);
      if (result) result = std::move(status);
      *failed = true;
    }
    if (left.fetch_sub(1) > 1) return;
    Status ended;
    {
      const MutexLock lock(mutex);
      ended = std::move(result);
    }
    done(std::move(ended));
  }

  std::function<void(Status)> done;
  std::atomic<std::size_t> left;
  std::shared_ptr<std::atomic<bool>> failed = std::make_shared<std::atomic<bool>>(false);
  Mutex mutex;
  Status result STAGE_GUARDED_BY(mutex);
};

}  // namespace stage_model::source
