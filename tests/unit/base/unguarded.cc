// Not built: what tidy.thread-safety-fails shows clang, which must refuse it.
#include "engine/base/mutex.h"

namespace stage_model {

class Counter {
 public:
  void add() {
    const MutexLock lock(mutex_);
    ++count_;
  }
  void forget_to_lock() { ++count_; }

 private:
  Mutex mutex_;
  int count_ STAGE_GUARDED_BY(mutex_) = 0;
};

}  // namespace stage_model
