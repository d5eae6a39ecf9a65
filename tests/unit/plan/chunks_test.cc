#include <gmock/gmock.h>

#include <numeric>
#include <random>

#include "engine/plan/plan.h"

namespace stage_model::plan {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

Listing sized(const std::vector<std::uint64_t>& sizes) {
  Listing out;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    out.objects.push_back({std::to_string(i), "", sizes[i], "", {}});
  return out;
}

std::vector<std::uint32_t> all_ranks(std::size_t n) {
  std::vector<std::uint32_t> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// Every byte of every wanted object is in exactly one extent, within the limits that MPI and
// O_DIRECT set.
void expect_exact_cover(const Listing& listing, const Layout& layout, std::uint64_t chunk_size,
                        const std::vector<std::uint32_t>& group) {
  std::vector<std::uint64_t> covered(listing.objects.size());
  std::size_t extents = 0;
  for (const Chunk& chunk : layout.chunks) {
    EXPECT_LE(chunk.length, chunk_size);
    EXPECT_LE(chunk.length, kMaxChunkSize);
    std::uint64_t bytes = 0;
    std::uint64_t at = 0;
    for (std::uint32_t i = 0; i < chunk.extent_count; ++i, ++extents) {
      const Extent& extent = layout.extents[chunk.first_extent + i];
      EXPECT_EQ(extent.at % kAlignment, 0u);
      EXPECT_EQ(extent.offset % kAlignment, 0u);
      EXPECT_GE(extent.at, at);
      EXPECT_GT(extent.length, 0u);
      EXPECT_EQ(extent.offset, covered[extent.object]) << "a gap or an overlap";
      covered[extent.object] += extent.length;
      bytes += extent.length;
      at = extent.at + extent.length;
      EXPECT_EQ(group[extent.object], group[layout.extents[chunk.first_extent].object]);
    }
    EXPECT_EQ(at, chunk.length);
    EXPECT_EQ(bytes, chunk.bytes);
  }
  EXPECT_EQ(extents, layout.extents.size());
  for (std::size_t i = 0; i < covered.size(); ++i) {
    EXPECT_EQ(covered[i], group[i] == kSkip ? 0 : listing.objects[i].size) << i;
  }
}

TEST(LayOut, EdgeSizes) {
  for (const std::uint64_t chunk : {kMinChunkSize, kMiB, 16 * kMiB}) {
    const Listing listing = sized({0, 1, 511, 512, 4095, 4096, 4097, chunk - 1, chunk, chunk + 1,
                                   2 * chunk, 10 * chunk + 17});
    const std::vector<std::uint32_t> group(listing.objects.size(), 0);
    expect_exact_cover(listing, lay_out(listing, group, chunk), chunk, group);
  }
}

TEST(LayOut, RandomSizesAndGroups) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> sizes(1 + random() % 60);
    for (auto& size : sizes) size = random() % (std::uint64_t{1} << (random() % 25));
    const Listing listing = sized(sizes);
    std::vector<std::uint32_t> group(sizes.size());
    for (auto& g : group) g = random() % 4 == 3 ? kSkip : random() % 3;
    const std::uint64_t chunk = kMinChunkSize << (random() % 6);
    expect_exact_cover(listing, lay_out(listing, group, chunk), chunk, group);
  }
}

// Field cases M1 and H7: sizes past 2^31 and 2^32, and a 6 TB object.
TEST(LayOut, HugeObjects) {
  const Listing listing =
      sized({(1ull << 31) - 1, 1ull << 31, 1ull << 32, (1ull << 32) + 1, 6'000'000'000'000});
  const std::vector<std::uint32_t> group(listing.objects.size(), 0);
  const Layout layout = lay_out(listing, group, kMaxChunkSize);
  expect_exact_cover(listing, layout, kMaxChunkSize, group);
  for (const Chunk& chunk : layout.chunks) EXPECT_LE(chunk.length, 0x7fffffffu);
}

TEST(Assign, SixBigFilesOverSixteenRanksBalance) {
  const Listing listing = sized(std::vector<std::uint64_t>(6, 200 * kMiB));
  const Layout layout =
      lay_out(listing, std::vector<std::uint32_t>(6, 0), default_chunk_size(1200 * kMiB, 16));
  const std::vector<Bits> holders(16, Bits(layout.chunks.size()));
  const Assignment plan = assign(layout, holders, all_ranks(16), 16);
  const Balance sum = balance(listing, layout, plan);
  EXPECT_EQ(sum.download_bytes, 1200 * kMiB);
  EXPECT_LT(static_cast<double>(sum.shard_max) / (1200.0 * kMiB / 16), 1.15);
}

TEST(Assign, EveryChunkOnceAndOnlyToDownloaders) {
  std::vector<std::uint64_t> sizes(524);
  std::mt19937_64 random(3);
  for (auto& size : sizes) size = 1000 + random() % (2 * kMiB);
  const Listing listing = sized(sizes);
  const Layout layout = lay_out(listing, std::vector<std::uint32_t>(sizes.size(), 0), kMiB);
  const Assignment plan =
      assign(layout, std::vector<Bits>(8, Bits(layout.chunks.size())), {2, 5}, 8);
  std::vector<int> seen(layout.chunks.size());
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    if (rank != 2 && rank != 5) {
      EXPECT_TRUE(plan.shards[rank].empty());
    }
    for (const auto chunk : plan.shards[rank]) ++seen[chunk];
  }
  EXPECT_THAT(seen, testing::Each(1));
}

TEST(Assign, WhatSomeHoldIsSentByAHolderAndWhatAllHoldIsNotMoved) {
  const Listing listing = sized({kMiB, kMiB, kMiB});
  // Rank 1 and 2 of three hold object 0; all hold object 1; nobody holds object 2.
  std::vector<Bits> held(3, Bits(3));
  held[1].set(0);
  held[2].set(0);
  for (auto& bits : held) bits.set(1);
  const auto group = group_by_holders(held, 3);
  EXPECT_EQ(group[1], kSkip);
  EXPECT_NE(group[0], group[2]);
  const Layout layout = lay_out(listing, group, 4 * kMiB);
  ASSERT_EQ(layout.chunks.size(), 2u);
  std::vector<Bits> chunks(3, Bits(2));
  const std::uint32_t zero = layout.extents[layout.chunks[0].first_extent].object == 0 ? 0 : 1;
  chunks[1].set(zero);
  chunks[2].set(zero);
  const Assignment plan = assign(layout, chunks, all_ranks(3), 3);
  EXPECT_TRUE(plan.resends[0].empty());
  EXPECT_EQ(plan.resends[1].size() + plan.resends[2].size(), 1u);
  const Balance sum = balance(listing, layout, plan);
  EXPECT_EQ(sum.download_bytes, kMiB);
  EXPECT_EQ(sum.resend_bytes, kMiB);
}

TEST(Assign, AudiencesLeaveOutWhoHoldsTheChunkAlready) {
  const Listing listing = sized(std::vector<std::uint64_t>(12, kMiB));
  const Layout layout = lay_out(listing, std::vector<std::uint32_t>(12, 0), kMiB);
  std::vector<Bits> three(16, Bits(12));
  std::vector<Bits> fifteen(16, Bits(12));
  for (std::uint32_t c = 0; c < 12; ++c) {
    for (const std::uint32_t rank : {3, 7, 11}) three[rank].set(c);
    for (std::uint32_t rank = 0; rank < 15; ++rank) fifteen[rank].set(c);
  }
  const Assignment some = assign(layout, three, all_ranks(16), 16);
  ASSERT_EQ(some.audiences.size(), 3u) << "one for each root";
  for (const auto& ranks : some.audiences) EXPECT_EQ(ranks.size(), 14u);
  EXPECT_EQ(some.resends[3].size(), 4u);
  const Assignment most = assign(layout, fifteen, all_ranks(16), 16);
  for (const auto& ranks : most.audiences) {
    ASSERT_EQ(ranks.size(), 2u);
    EXPECT_EQ(ranks[1], 15u);
  }
  EXPECT_EQ(balance(listing, layout, most).download_bytes, 0u);
}

TEST(ChunkSize, AsBeforeWithinAFactorOfFour) {
  EXPECT_EQ(chunk_size_as_before(4 * kMiB, 0), 4 * kMiB);
  EXPECT_EQ(chunk_size_as_before(4 * kMiB, kMiB), kMiB);
  EXPECT_EQ(chunk_size_as_before(4 * kMiB, 600 << 10), kMiB);  // pieces are equal, not full
  EXPECT_EQ(chunk_size_as_before(4 * kMiB, 16 * kMiB - 4096), 16 * kMiB);
  EXPECT_EQ(chunk_size_as_before(4 * kMiB, 512 << 10), 4 * kMiB);
  EXPECT_EQ(chunk_size_as_before(4 * kMiB, 17 * kMiB), 4 * kMiB);
  EXPECT_EQ(chunk_size_as_before(512 << 10, 64 << 10), std::uint64_t{512} << 10);
  EXPECT_EQ(chunk_size_as_before(64 * kMiB, std::uint64_t{1} << 30), 64 * kMiB);
}

TEST(ChunkSize, BoundedPowerOfTwo) {
  EXPECT_EQ(default_chunk_size(0, 1), 512u << 10);
  EXPECT_EQ(default_chunk_size(1ull << 50, 4096), 64u << 20);
  EXPECT_EQ(default_chunk_size(413'000'000, 16), 512u << 10);
  EXPECT_EQ(default_chunk_size(413'000'000'000, 16), 64u << 20);
}

TEST(Downloaders, EvenlySpread) {
  EXPECT_THAT(choose_downloaders(all_ranks(8), 4), testing::ElementsAre(0, 2, 4, 6));
  EXPECT_EQ(choose_downloaders(all_ranks(8), 256).size(), 8u);
  EXPECT_EQ(choose_downloaders(all_ranks(4096), kMaxDownloaders).size(), 256u);
  EXPECT_TRUE(choose_downloaders({}, 4).empty());
}

TEST(Bits, CountTestSet) {
  Bits bits(130);
  EXPECT_EQ(bits.count(), 0u);
  for (const std::size_t i : {0, 63, 64, 129}) bits.set(i);
  EXPECT_EQ(bits.count(), 4u);
  EXPECT_TRUE(bits.test(129));
  EXPECT_FALSE(bits.test(128));
}

}  // namespace
}  // namespace stage_model::plan
