#include "engine/base/mutex.h"

#include <gtest/gtest.h>

#include <thread>

namespace stage_model {
namespace {

TEST(Mutex, OneAtATime) {
  constexpr int kRounds = 20000;
  Mutex mutex;
  int count = 0;
  const auto work = [&] {
    for (int i = 0; i < kRounds; ++i) {
      const MutexLock lock(mutex);
      ++count;
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(count, 2 * kRounds);
}

TEST(Mutex, AWaitGivesTheLockAwayUntilItIsWoken) {
  Mutex mutex;
  Condition changed;
  int turn = 0;
  std::thread other([&] {
    MutexLock lock(mutex);
    while (turn != 1) changed.wait(lock);
    turn = 2;
    changed.notify_all();
  });
  {
    MutexLock lock(mutex);
    turn = 1;
    changed.notify_all();
    while (turn != 2) changed.wait_for(lock, 60);
  }
  other.join();
  EXPECT_EQ(turn, 2);
}

}  // namespace
}  // namespace stage_model
