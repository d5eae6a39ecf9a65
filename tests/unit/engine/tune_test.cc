#include "engine/tune.h"

#include <gmock/gmock.h>

namespace stage_model {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGiB = 1 << 30;

// 16 ranks on 400 Gb/s with a large model.
Situation cluster() {
  Situation situation;
  situation.chunk = 64 * kMiB;
  situation.ranks = situation.downloaders = 16;
  situation.segment = 512 << 10;
  situation.node_memory = 2048 * kGiB;
  situation.fabric = {.chain_s = 0.2e-3, .bytes_per_s = 50e9};
  return situation;
}

TEST(Tune, MemoryIsAnEighthOfTheNodesAndAtMostTwoGiB) {
  EXPECT_EQ(choose({}, cluster()).memory, 2 * kGiB);
  Situation small = cluster();
  small.node_memory = 4 * kGiB;
  const Tuning tuning = choose({}, small);
  EXPECT_EQ(tuning.memory, kGiB / 2);
  EXPECT_EQ(tuning.receive_buffers, 4U);
  EXPECT_EQ(tuning.download_buffers, 4U);
}

TEST(Tune, OneBufferOfEachKindWhateverTheMemory) {
  const Tuning tuning = choose({.memory = 1}, cluster());
  EXPECT_EQ(tuning.receive_buffers, 1U);
  EXPECT_EQ(tuning.download_buffers, 1U);
}

TEST(Tune, EnoughInFlightForADeepChain) {
  EXPECT_EQ(choose({}, cluster()).pipeline, 8U);
  EXPECT_EQ(choose({}, cluster()).per_root, 2U);
  Situation deep = cluster();
  deep.ranks = 4096;
  deep.fabric.chain_s = 20e-3;
  // (50 GB/s × 20 ms + 4,096 × 512 KiB) ÷ 64 MiB = 46.9
  EXPECT_EQ(choose({}, deep).pipeline, 64U);
  EXPECT_EQ(choose({}, deep).per_root, 46U);
}

TEST(Tune, SmallChunksFromManyRootsKeepAllLinksBusy) {
  Situation slow = cluster();
  slow.chunk = kMiB / 2;
  slow.segment = 64 << 10;
  slow.fabric = {.chain_s = 1e-3, .bytes_per_s = 6e6};
  EXPECT_EQ(choose({}, slow).pipeline, 64U);
  EXPECT_EQ(choose({}, slow).per_root, 2U);
}

TEST(Tune, HoldersThatResendShareAChain) {
  Situation resend = cluster();
  resend.resenders = 3;
  EXPECT_EQ(choose({}, resend).per_root, 1U);
  resend.resenders = 1;
  EXPECT_EQ(choose({}, resend).per_root, 2U);
}

TEST(Tune, FewRanksThatDownloadOpenMoreConnectionsEach) {
  for (const auto& [downloaders, gets] :
       {std::pair{1U, 64U}, std::pair{16U, 32U}, std::pair{64U, 16U}, std::pair{256U, 16U}}) {
    Situation situation = cluster();
    situation.downloaders = downloaders;
    EXPECT_EQ(choose({}, situation).concurrency, gets) << downloaders;
  }
}

TEST(Tune, AnEighthOfTheCpusReceives) {
  for (const auto& [cpus, threads] :
       {std::pair{1U, 1U}, std::pair{2U, 1U}, std::pair{15U, 1U}, std::pair{16U, 2U},
        std::pair{96U, 8U}, std::pair{256U, 8U}}) {
    Situation situation = cluster();
    situation.cpus = cpus;
    EXPECT_EQ(choose({}, situation).http_threads, threads) << cpus;
  }
}

TEST(Tune, NoMoreReceiveThanTheBandwidthOrTheGetsNeed) {
  Situation situation = cluster();
  situation.cpus = 96;
  situation.max_bandwidth = 1e6;
  EXPECT_EQ(choose({}, situation).http_threads, 1U);
  situation.max_bandwidth = 2.5e9;
  EXPECT_EQ(choose({}, situation).http_threads, 3U);
  situation.max_bandwidth = 1e12;
  EXPECT_EQ(choose({}, situation).http_threads, 8U);
  EXPECT_EQ(choose({.concurrency = 2}, situation).http_threads, 2U);
}

TEST(Tune, WhatWasGivenStays) {
  const Tuning given{.memory = 5 * kGiB,
                     .receive_buffers = 3,
                     .download_buffers = 7,
                     .pipeline = 5,
                     .per_root = 4,
                     .concurrency = 9,
                     .http_threads = 12};
  const Tuning tuning = choose(given, cluster());
  EXPECT_EQ(tuning.memory, 5 * kGiB);
  EXPECT_EQ(tuning.receive_buffers, 3U);
  EXPECT_EQ(tuning.download_buffers, 7U);
  EXPECT_EQ(tuning.pipeline, 5U);
  EXPECT_EQ(tuning.per_root, 4U);
  EXPECT_EQ(tuning.concurrency, 9U);
  EXPECT_EQ(tuning.http_threads, 12U);
  EXPECT_EQ(choose({.pipeline = 1}, cluster()).per_root, 1U);
}

TEST(Tune, NothingIsKnownOfAnEmptyModelOrAFabricOfOne) {
  const Tuning tuning = choose({}, Situation{});
  EXPECT_EQ(tuning.pipeline, 64U);
  EXPECT_THAT(describe(tuning, Situation{}, 4, 0), ::testing::Not(::testing::HasSubstr("fabric")));
  EXPECT_THAT(describe(choose({}, cluster()), cluster(), 4, 2.5e9),
              ::testing::AllOf(::testing::HasSubstr("chunks of 64 MiB"),
                               ::testing::HasSubstr("8 broadcasts in flight (2 of a root)"),
                               ::testing::HasSubstr("32 GETs by 1 thread(s) on each of 16 ranks"),
                               ::testing::HasSubstr("fabric 50 GB/s, 0.2 ms deep"),
                               ::testing::HasSubstr("a write 2.5 GB/s")));
}

}  // namespace
}  // namespace stage_model
