// A few threads that run jobs in order of arrival: hashing, reading back. Destruction runs what is
// queued, then joins. post() may be called from any thread.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "engine/base/mutex.h"

namespace stage_model::transfer {

class Workers {
 public:
  explicit Workers(unsigned threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void post(std::function<void()> job);

 private:
  void run();

  Mutex mutex_;
  Condition wake_;
  std::deque<std::function<void()>> jobs_ STAGE_GUARDED_BY(mutex_);
  bool stop_ STAGE_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace stage_model::transfer
