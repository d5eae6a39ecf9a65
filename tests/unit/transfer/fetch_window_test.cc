#include "engine/transfer/fetch_window.h"

#include <gtest/gtest.h>

namespace stage_model::transfer {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(FetchWindow, BeginsWithTwoChunks) {
  EXPECT_EQ(FetchWindow(16).chunks(kMiB), 2U);
  EXPECT_EQ(FetchWindow(1).chunks(kMiB), 1U);
  EXPECT_EQ(FetchWindow(0).chunks(kMiB), 1U);
}

TEST(FetchWindow, IsAQuarterOfASecondsWork) {
  FetchWindow window(16);
  window.fetched(0, 1, 24 * kMiB);
  EXPECT_EQ(window.chunks(kMiB), 6U);
  EXPECT_EQ(window.chunks(32 * kMiB), 2U);
  window.fetched(1, 1.01, 100 * kMiB);
  EXPECT_EQ(window.chunks(kMiB), 16U) << "no more than there are buffers";
}

// Of a chunk that takes seconds, one: nobody can take over what is under way.
TEST(FetchWindow, IsOneChunkWhereThatTakesSeconds) {
  FetchWindow window(16);
  window.fetched(0, 8, 2 * kMiB);
  EXPECT_EQ(window.chunks(kMiB), 1U);
  EXPECT_EQ(window.chunks(kMiB / 4), 2U);
}

// Two fetches that share a slow wire end at the same moment; that is no high rate.
TEST(FetchWindow, FetchesThatEndTogetherDoNotOpenIt) {
  FetchWindow window(16);
  window.fetched(0, 2.0, kMiB);
  window.fetched(0, 2.0001, kMiB);
  EXPECT_EQ(window.chunks(kMiB / 2), 2U);
}

TEST(FetchWindow, ForgetsWhatWasLongAgo) {
  FetchWindow window(16);
  for (int i = 0; i < 16; ++i) window.fetched(i, i + 1, 40 * kMiB);
  EXPECT_EQ(window.chunks(kMiB), 10U);
  for (int i = 16; i < 32; ++i) window.fetched(i, i + 1, 16 * kMiB);
  EXPECT_EQ(window.chunks(kMiB), 4U);
}

}  // namespace
}  // namespace stage_model::transfer
