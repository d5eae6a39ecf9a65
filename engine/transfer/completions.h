// What other threads tell the main thread: a fetch, a hash or a write has ended.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/store/store.h"
#include "stage_model/result.h"

namespace stage_model::transfer {

struct Event {
  enum class Kind : std::uint8_t { kFetched, kHashed, kWritten };
  Kind kind = Kind::kFetched;
  std::uint32_t chunk = 0;
  Status status;
  std::vector<store::Digest> digests;  // kHashed: one for each extent
};

class EventQueue {
 public:
  // Wakes under the lock: who takes the last event may destroy the queue right after.
  void push(Event event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    wake_.notify_one();
  }
  // Until there is an event, or `limit` has passed.
  void wait(std::chrono::microseconds limit) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, limit, [this] { return !events_.empty(); });
  }
  std::vector<Event> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Event> events_;
};

}  // namespace stage_model::transfer
