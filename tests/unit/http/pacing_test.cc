// Rates, stalls and throttling, with a clock of the test's own.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "engine/http/low_speed.h"
#include "engine/http/throttle.h"
#include "engine/http/token_bucket.h"

namespace stage_model::http {
namespace {

TEST(HttpTokenBucket, KeepsItsRateOnAverage) {
  TokenBucket bucket(1000, 0);
  double taken = 0;
  for (double t = 0; t < 10; t += 0.01) {
    while (bucket.open(t)) {
      bucket.take(150);
      taken += 150;
    }
  }
  EXPECT_NEAR(taken, 10000, 300);
}

TEST(HttpTokenBucket, SaysHowLongToWait) {
  TokenBucket bucket(1000, 0);
  EXPECT_EQ(bucket.wait(0), 0);
  bucket.take(1100);  // 100 were there
  EXPECT_FALSE(bucket.open(0));
  EXPECT_NEAR(bucket.wait(0), 1.0, 0.01);
  EXPECT_TRUE(bucket.open(bucket.wait(0)));
}

// As a transfer does it: look, take, look again. Whoever looks last before it is empty takes.
TEST(HttpTokenBucket, ThreadsKeepItTogether) {
  constexpr int kThreads = 4, kTaken = 10;
  TokenBucket bucket(1e6, 0);  // 100,000 are there
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      while (bucket.open(0)) {
        bucket.take(kTaken);
        taken += kTaken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(taken, 100000);
  EXPECT_LE(taken, 100000 + kThreads * kTaken);
}

TEST(HttpTokenBucket, ATimeThatAnotherThreadHasPassedAddsNothing) {
  TokenBucket bucket(1000, 0);
  bucket.take(100);
  EXPECT_TRUE(bucket.open(0.05));
  bucket.take(50);
  EXPECT_FALSE(bucket.open(0.02));
  EXPECT_FALSE(bucket.open(0.05));
  EXPECT_NEAR(bucket.wait(0.02), 0.001, 1e-6);
}

TEST(HttpTokenBucket, ZeroIsNoLimit) {
  TokenBucket bucket(0, 0);
  bucket.take(UINT64_MAX);
  EXPECT_TRUE(bucket.open(0));
  EXPECT_EQ(bucket.wait(0), 0);
}

TEST(HttpLowSpeed, SilenceIsAStallAfterTheWindow) {
  LowSpeed speed(20, 1000, 0);
  for (double t = 0; t < 19.9; t += 0.25) ASSERT_FALSE(speed.stalled(t, 0)) << t;
  EXPECT_TRUE(speed.stalled(20, 0));
}

TEST(HttpLowSpeed, ATrickleDoesNotResetIt) {
  LowSpeed speed(20, 1000, 0);
  double stalled_at = 0;
  std::uint64_t total = 0;
  for (double t = 0; t < 60 && stalled_at == 0; t += 0.25) {
    if (speed.stalled(t, total++)) stalled_at = t;
  }
  EXPECT_NEAR(stalled_at, 20, 0.3);
}

TEST(HttpLowSpeed, AStopAfterGoodTimesIsSeenWithinAWindowAndABit) {
  LowSpeed speed(20, 1000, 0);
  double stalled_at = 0;
  for (double t = 0; t < 200 && stalled_at == 0; t += 0.25) {
    if (speed.stalled(t, static_cast<std::uint64_t>(std::min(t, 100.0) * 1e6))) stalled_at = t;
  }
  EXPECT_NEAR(stalled_at, 120, 20.0 / 16 + 0.5);
}

TEST(HttpLowSpeed, SlowAndSteadyPasses) {
  LowSpeed speed(20, 64 << 10, 0);
  for (double t = 0; t < 600; t += 0.25) {
    ASSERT_FALSE(speed.stalled(t, static_cast<std::uint64_t>(t * 4000))) << t;
  }
}

TEST(HttpLowSpeed, RestartForgets) {
  LowSpeed speed(20, 1000, 0);
  speed.restart(15, 0);
  EXPECT_FALSE(speed.stalled(34, 0));
  EXPECT_TRUE(speed.stalled(35.1, 0));
}

TEST(HttpThrottle, HalvesOncePerEventAndRecoversSlowly) {
  Throttle throttle(16, 0.25, 30, 1);
  for (int i = 0; i < 16; ++i) throttle.throttled(100, std::nullopt);  // all in flight at once
  EXPECT_EQ(throttle.limit(), 8U);
  for (int i = 0; i < 10; ++i) throttle.throttled(200 + 2 * i, std::nullopt);
  EXPECT_EQ(throttle.limit(), 1U);
  for (int i = 0; i < 10; ++i) throttle.succeeded();
  EXPECT_GT(throttle.limit(), 2U);
  EXPECT_LT(throttle.limit(), 8U);
  for (int i = 0; i < 1000; ++i) throttle.succeeded();
  EXPECT_EQ(throttle.limit(), 16U);
}

TEST(HttpThrottle, HonoursWhatTheServerAsksFor) {
  Throttle throttle(16, 0.25, 30, 1);
  throttle.throttled(100, 3);
  EXPECT_GE(throttle.not_before(), 103);
  EXPECT_LE(throttle.not_before(), 103.6 + 0.01);
}

TEST(HttpThrottle, BackoffDoublesWithJitterUpToALimit) {
  Throttle throttle(16, 0.25, 30, 1);
  for (unsigned n = 1; n < 100; ++n) {
    const double whole = std::min(30.0, 0.25 * static_cast<double>(1ULL << std::min(n - 1, 20U)));
    const double wait = throttle.backoff(n);
    EXPECT_GE(wait, whole * 0.5);
    EXPECT_LE(wait, whole);
  }
}

}  // namespace
}  // namespace stage_model::http
