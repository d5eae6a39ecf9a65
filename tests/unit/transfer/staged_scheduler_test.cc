#include "engine/transfer/staged_scheduler.h"

#include <gmock/gmock.h>

#include "tests/unit/transfer/one_rank.h"

namespace stage_model::transfer {
namespace {

using message::ChunkReady;
using message::NextBroadcasts;
using message::ShardOnDisk;
using message::StartBroadcasts;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(StagedScheduler, NothingIsBroadcastBeforeEveryShardIsOnDisk) {
  OneRank rank(1, {{0}, {1, 2}});
  rank.options.downloading = 2;
  rank.start_staged().grant({1, 2}, 2);
  rank.fetched(1).hashed(1).fetched(2);
  rank.receive(message::GrantChunks{{}, 2});
  EXPECT_THAT(rank.hashed(2).sent<ChunkReady>(), IsEmpty());
  EXPECT_THAT(rank.written(1).sent<ShardOnDisk>(), IsEmpty());
  EXPECT_THAT(rank.written(2).sent<ShardOnDisk>(), SizeIs(1));
  EXPECT_THAT(rank.chunks<action::Read>(), IsEmpty());
  EXPECT_THAT(rank.receive(StartBroadcasts{}).chunks<action::Read>(), ElementsAre(1, 2));
  EXPECT_THAT(rank.fetched(1).hashed(1).sent<ChunkReady>(), SizeIs(1));
  EXPECT_THAT(rank.chunks<action::Write>(), IsEmpty()) << "it is on disk";
}

TEST(StagedScheduler, RankZeroWaitsForAllShards) {
  OneRank zero(0, {{}, {0}, {1}});
  zero.start_staged().receive(ShardOnDisk{}, 1);
  EXPECT_THAT(zero.sent_to_all<StartBroadcasts>(), IsEmpty());
  EXPECT_THAT(zero.receive(ShardOnDisk{}, 2).sent_to_all<StartBroadcasts>(), SizeIs(1));
}

TEST(StagedScheduler, ListsInTheOrderOfTheFiles) {
  OneRank zero(0, {{}, {0, 2}, {1}});
  zero.start_staged().receive(ShardOnDisk{}, 1).receive(ShardOnDisk{}, 2);
  zero.receive(ChunkReady{OneRank::entry(1, 2)}, 2);
  EXPECT_THAT(zero.sent_to_all<NextBroadcasts>(), IsEmpty());
  const auto next = zero.receive(ChunkReady{OneRank::entry(0, 1)}, 1).sent_to_all<NextBroadcasts>();
  ASSERT_THAT(next, SizeIs(1));
  EXPECT_THAT(zero.chunks<action::Broadcast>(), ElementsAre(0, 1));
}

// Rank 0 waits for a certain chunk, which may be any of those in memory: with as few announced as
// per_root says nothing moved any more.
TEST(StagedScheduler, AnnouncesAllThatIsInMemory) {
  OneRank rank(1, {{}, {0, 1}});
  rank.options.per_root = 1;
  rank.start_staged().grant({0, 1}, 2).fetched(0).hashed(0).fetched(1).hashed(1).written(0);
  rank.grant({}, 2).written(1).receive(StartBroadcasts{});
  EXPECT_THAT(rank.fetched(0).hashed(0).sent<ChunkReady>(), SizeIs(1));
  EXPECT_THAT(rank.fetched(1).hashed(1).sent<ChunkReady>(), SizeIs(1));
}

TEST(StagedScheduler, NobodyTakesOver) {
  OneRank zero(0, {{0, 1, 2}, {}});
  zero.start_staged();
  const auto grants = zero.receive(message::RequestChunks{2}, 1).sent<message::GrantChunks>();
  ASSERT_THAT(grants, SizeIs(1));
  EXPECT_THAT(grants[0].chunks, IsEmpty());
}

}  // namespace
}  // namespace stage_model::transfer
