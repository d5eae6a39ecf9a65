// A mutex whose rules the compiler knows: what it guards says so, and clang refuses code that
// touches it without the lock (tests/support/thread_safety.py, the test tidy.thread-safety). gcc
// sees plain std::mutex and std::condition_variable.
//
//   Mutex mutex_;
//   std::deque<Job> queue_ STAGE_GUARDED_BY(mutex_);
//   void dispatch() STAGE_REQUIRES(mutex_);  // the caller has the lock
//
// A lambda is another function to clang: it does not have the lock that is held around it. So a
// wait is a loop, `while (queue_.empty()) wake_.wait(lock);`, and not a predicate.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define STAGE_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define STAGE_THREAD_ATTRIBUTE(x)
#endif
#define STAGE_GUARDED_BY(mutex) STAGE_THREAD_ATTRIBUTE(guarded_by(mutex))
#define STAGE_REQUIRES(mutex) STAGE_THREAD_ATTRIBUTE(requires_capability(mutex))

namespace stage_model {

class STAGE_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Has the lock for as long as it lives.
class STAGE_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) STAGE_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~MutexLock() STAGE_THREAD_ATTRIBUTE(release_capability()) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

// Every wait may end for no reason: ask again what was waited for.
class Condition {
 public:
  void wait(MutexLock& lock) { condition_.wait(lock.lock_); }
  void wait_for(MutexLock& lock, double seconds) {
    condition_.wait_for(lock.lock_, std::chrono::duration<double>(seconds));
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace stage_model
