// What other threads tell the main thread: a part of a
// fetch or a write, or a hash, has ended.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/store/store.h"
#include "stage_model/result.h"

namespace stage_model::transfer {

struct Completion {
  enum class Kind : std::uint8_t { kFetched, kHashed, kWritten };
  Kind kind = Kind::kFetched;
  std::size_t slot = 0;  // the driver's
  Status status;
  std::vector<store::Digest> digests = {};  // kHashed: one for each extent
  std::array<std::uint64_t, 2> check{};     // kHashed
};

class CompletionQueue {
 public:
  // Wakes under the lock: who takes the last one may destroy the queue right after.
  void push(Completion completion) {
    const MutexLock lock(mutex_);
    completions_.push_back(std::move(completion));
    wake_.notify_one();
  }
  // Until there is one, or `limit` has passed, or a little less.
  void wait(std::chrono::microseconds limit) {
    MutexLock lock(mutex_);
    if (completions_.empty()) wake_.wait_for(lock, std::chrono::duration<double>(limit).count());
  }
  std::vector<Completion> take() {
    const MutexLock lock(mutex_);
    return std::exchange(completions_, {});
  }

 private:
  Mutex mutex_;
  Condition wake_;
  std::vector<Completion> completions_ STAGE_GUARDED_BY(mutex_);
};

}  // namespace stage_model::transfer
