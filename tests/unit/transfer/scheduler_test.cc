// The rules of docs/architecture.md, "Why a sequencer", one by one, on one rank. What they add up
// to on many: tests/simulation.
#include "engine/transfer/scheduler.h"

#include <gmock/gmock.h>

#include "tests/unit/transfer/one_rank.h"

namespace stage_model::transfer {
namespace {

using message::ChunkReady;
using message::EndOfList;
using message::GrantChunks;
using message::NextBroadcasts;
using message::RankFailed;
using message::RequestChunks;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// ---- who downloads what

TEST(Scheduler, RequestsFewChunksUntilItsRateIsKnown) {
  OneRank rank(1, {{0, 1, 2, 3}, {4, 5, 6, 7}});
  ASSERT_THAT(rank.start().sent<RequestChunks>(), SizeIs(1));
  EXPECT_EQ(rank.sent<RequestChunks>()[0].count, 2u);
  EXPECT_THAT(rank.grant({4, 5}, 2).chunks<action::Fetch>(), ElementsAre(4, 5));
  EXPECT_THAT(rank.sent<RequestChunks>(), IsEmpty()) << "two are under way";
}

TEST(Scheduler, AsksForMoreAsChunksArrive) {
  OneRank rank(1, {{0, 1, 2, 3}, {4, 5, 6, 7}});
  rank.start().grant({4, 5}, 2);
  rank.now = 1;
  EXPECT_THAT(rank.fetched(4).sent<RequestChunks>(), SizeIs(1));
}

TEST(Scheduler, WhoIsGrantedFewerThanItAskedForAsksNoMore) {
  OneRank rank(1, {{0, 1}, {2}});
  rank.start().grant({2}, 2);
  rank.now = 1;
  EXPECT_THAT(rank.fetched(2).sent<RequestChunks>(), IsEmpty());
}

TEST(Scheduler, RankZeroGrantsTheTailOfTheFullestToWhoIsIdle) {
  OneRank zero(0, {{0, 1, 2, 3, 4, 5}, {}});
  EXPECT_THAT(zero.start().chunks<action::Fetch>(), ElementsAre(0, 1)) << "its own, by itself";
  const auto grants = zero.receive(RequestChunks{2}, 1).sent<GrantChunks>();
  ASSERT_THAT(grants, SizeIs(1));
  EXPECT_THAT(grants[0].chunks, ElementsAre(5, 4));
  EXPECT_EQ(zero.scheduler->taken_over(), 2u);
}

TEST(Scheduler, WithoutTakingOverTheIdleGetNothing) {
  OneRank zero(0, {{0, 1, 2, 3}, {}});
  zero.options.take_over = false;
  const auto grants = zero.start().receive(RequestChunks{2}, 1).sent<GrantChunks>();
  ASSERT_THAT(grants, SizeIs(1));
  EXPECT_THAT(grants[0].chunks, IsEmpty());
}

TEST(Scheduler, WhoHasManyWaitingForTheirBroadcastAsksForNoMore) {
  OneRank rank(1, {{}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}});
  rank.options.per_root = 1;
  rank.options.download_buffers = 12;
  rank.options.downloading = 1;
  rank.start();
  for (std::uint32_t chunk = 0; chunk < 10; ++chunk) {
    ASSERT_THAT(rank.sent<RequestChunks>(), SizeIs(1)) << chunk;
    rank.grant({chunk}, 1).fetched(chunk);
    const auto decided = rank.decided;
    rank.hashed(chunk);
    rank.decided = decided;
  }
  EXPECT_THAT(rank.sent<RequestChunks>(), IsEmpty());
  EXPECT_EQ(rank.scheduler->broadcasts().ready_count(), 9u);
}

TEST(Scheduler, WhoDoesNotDownloadAsksForNothing) {
  OneRank rank(1, {{0}, {}});
  rank.downloads = false;
  EXPECT_THAT(rank.start().sent<RequestChunks>(), IsEmpty());
}

// ---- chunks in memory

TEST(Scheduler, AnnouncesAChunkOnlyWhenItIsInMemoryAndHashed) {
  OneRank rank(1, {{}, {0, 1}});
  EXPECT_THAT(rank.start().grant({0}, 2).sent<ChunkReady>(), IsEmpty());
  EXPECT_THAT(rank.fetched(0).sent<ChunkReady>(), IsEmpty());
  EXPECT_THAT(rank.chunks<action::Hash>(), ElementsAre(0));
  const auto ready = rank.hashed(0).sent<ChunkReady>();
  ASSERT_THAT(ready, SizeIs(1));
  EXPECT_EQ(ready[0].entry.root, 1u);
  EXPECT_EQ(ready[0].entry.check, OneRank::check(0));
  EXPECT_THAT(rank.chunks<action::Write>(), ElementsAre(0)) << "at once, not after the broadcast";
}

TEST(Scheduler, ABufferIsFreeWhenItsChunkIsWrittenAndBroadcast) {
  OneRank rank(1, {{}, {0, 1}});
  rank.options.download_buffers = 1;
  rank.start().grant({0, 1}, 1);
  rank.fetched(0).hashed(0).list({OneRank::entry(0, 1)});
  EXPECT_THAT(rank.chunks<action::Broadcast>(), ElementsAre(0));
  EXPECT_THAT(rank.broadcast_done(0).chunks<action::Fetch>(), IsEmpty()) << "still being written";
  EXPECT_THAT(rank.written(0).chunks<action::Fetch>(), ElementsAre(1));
}

TEST(Scheduler, ReceiveBuffersAreNeverLentToDownloads) {
  OneRank rank(1, {{0}, {1, 2, 3}});
  rank.options.download_buffers = 1;
  rank.options.receive_buffers = 1;
  rank.start().grant({1, 2}, 1);
  EXPECT_THAT(rank.chunks<action::Fetch>(), ElementsAre(1));
  EXPECT_EQ(rank.free(Pool::kReceive), 1u);
  const auto posted =
      rank.fetched(1).hashed(1).list({OneRank::entry(0, 0)}).actions<action::Broadcast>();
  ASSERT_THAT(posted, SizeIs(1));
  EXPECT_EQ(posted[0].buffer.pool, Pool::kReceive);
}

TEST(Scheduler, WhatItHoldsAndOthersLackIsReadAndNotWritten) {
  OneRank rank(1, {{}, {}});
  rank.cut(1);
  rank.assignment.resends[1] = {0};
  rank.held.set(0);
  EXPECT_THAT(rank.start().chunks<action::Read>(), ElementsAre(0));
  const auto hash = rank.fetched(0).actions<action::Hash>();
  ASSERT_THAT(hash, SizeIs(1));
  EXPECT_EQ(hash[0].from, action::Hash::From::kDisk);
  EXPECT_THAT(rank.hashed(0).chunks<action::Write>(), IsEmpty());
  EXPECT_THAT(rank.sent<ChunkReady>(), SizeIs(1));
  rank.list({OneRank::entry(0, 1)});
  EXPECT_TRUE(rank.broadcast_done(0).left());
}

TEST(Scheduler, OtherBytesThanTheRootSentAreAFailureOfThisNode) {
  OneRank rank(1, {{0}, {}});
  rank.start().list({OneRank::entry(0, 0)});
  EXPECT_THAT(rank.broadcast_done(0).chunks<action::Hash>(), ElementsAre(0));
  const auto failed = rank.tell(event::Hashed{0, {}, {9, 9}}).sent<RankFailed>();
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_EQ(failed[0].cause.error.code, ExitCode::kIntegrity);
  EXPECT_EQ(failed[0].cause.node, "n1");
  EXPECT_THAT(rank.chunks<action::Write>(), IsEmpty());
}

// ---- the list

TEST(Scheduler, RankZeroListsWhatIsReadyInOneMessage) {
  OneRank zero(0, {{}, {0}, {1}});
  zero.start().receive(ChunkReady{OneRank::entry(1, 2)}, 2, true);
  const auto next = zero.receive(ChunkReady{OneRank::entry(0, 1)}, 1).sent_to_all<NextBroadcasts>();
  ASSERT_THAT(next, SizeIs(1));
  ASSERT_THAT(next[0].entries, SizeIs(2));
  EXPECT_EQ(next[0].entries[0].chunk, 1u);
  EXPECT_EQ(next[0].entries[1].root, 1u);
  EXPECT_THAT(zero.chunks<action::Broadcast>(), ElementsAre(1, 0));
}

TEST(Scheduler, PostsInTheOrderOfTheListWaitingForABufferIfItMust) {
  OneRank rank(1, {{0, 1}, {2}});
  rank.options.receive_buffers = 1;
  rank.start().grant({2}, 2).fetched(2).hashed(2);
  rank.list({OneRank::entry(0, 0), OneRank::entry(1, 0), OneRank::entry(2, 1)});
  EXPECT_THAT(rank.chunks<action::Broadcast>(), ElementsAre(0)) << "not its own before its turn";
  EXPECT_THAT(rank.broadcast_done(0).hashed(0).chunks<action::Broadcast>(), IsEmpty());
  const auto posted = rank.written(0).actions<action::Broadcast>();
  ASSERT_THAT(posted, SizeIs(2));
  EXPECT_EQ(posted[0].number, 1u);
  EXPECT_EQ(posted[1].number, 2u);
  EXPECT_EQ(posted[1].chunk, 2u);
}

TEST(Scheduler, FewBroadcastsAreInFlight) {
  OneRank rank(1, {{0, 1, 2}, {}});
  rank.options.pipeline = 2;
  rank.start().list({OneRank::entry(0, 0), OneRank::entry(1, 0), OneRank::entry(2, 0)});
  EXPECT_THAT(rank.chunks<action::Broadcast>(), ElementsAre(0, 1));
  EXPECT_THAT(rank.broadcast_done(1).chunks<action::Broadcast>(), ElementsAre(2));
}

TEST(Scheduler, ARootAnnouncesFewAtATime) {
  OneRank rank(1, {{}, {0, 1}});
  rank.options.per_root = 1;
  rank.start().grant({0, 1}, 2).fetched(0).fetched(1);
  EXPECT_THAT(rank.hashed(0).sent<ChunkReady>(), SizeIs(1));
  EXPECT_THAT(rank.hashed(1).sent<ChunkReady>(), IsEmpty());
  rank.list({OneRank::entry(0, 1)});
  EXPECT_THAT(rank.broadcast_done(0).sent<ChunkReady>(), SizeIs(1));
}

TEST(Scheduler, WhoIsNotInTheAudienceCountsTheEntryAndGoesOn) {
  OneRank rank(1, {{0, 1}, {}, {}, {}});
  rank.assignment.audiences = {{0, 2, 3}};
  rank.assignment.audience[0] = 0;
  rank.options.receive_buffers = 1;
  const auto posted =
      rank.start().list({OneRank::entry(0, 0), OneRank::entry(1, 0)}).actions<action::Broadcast>();
  ASSERT_THAT(posted, SizeIs(1));
  EXPECT_EQ(posted[0].chunk, 1u);
  EXPECT_EQ(posted[0].number, 1u) << "the same number everywhere";
}

TEST(Scheduler, WhatItHoldsAlreadyIsTakenAlongAndThrownAway) {
  OneRank rank(1, {{0}, {}});
  rank.held.set(0);
  rank.start().list({OneRank::entry(0, 0)});
  EXPECT_THAT(rank.chunks<action::Broadcast>(), ElementsAre(0));
  EXPECT_TRUE(rank.broadcast_done(0).left());
  EXPECT_THAT(rank.chunks<action::Hash>(), IsEmpty());
  EXPECT_THAT(rank.chunks<action::Write>(), IsEmpty());
}

TEST(Scheduler, WhereEverythingIsInPlaceNothingIsWritten) {
  OneRank rank(1, {{0}, {}});
  rank.writes = false;
  rank.start().list({OneRank::entry(0, 0)});
  EXPECT_TRUE(rank.broadcast_done(0).left());
  EXPECT_THAT(rank.chunks<action::Write>(), IsEmpty());
}

// ---- alone

TEST(Scheduler, AloneThereIsNobodyToTell) {
  OneRank rank(0, {{0, 1}});
  rank.options.download_buffers = 1;
  EXPECT_THAT(rank.start().chunks<action::Fetch>(), ElementsAre(0));
  EXPECT_THAT(rank.fetched(0).hashed(0).written(0).chunks<action::Fetch>(), ElementsAre(1));
  EXPECT_TRUE(rank.fetched(1).hashed(1).written(1).left());
  EXPECT_THAT(rank.actions<action::Send>(), IsEmpty());
  EXPECT_THAT(rank.actions<action::SendToAll>(), IsEmpty());
  EXPECT_FALSE(rank.scheduler->failure());
}

TEST(Scheduler, AloneAFailureEndsIt) {
  OneRank rank(0, {{0, 1}});
  rank.options.download_buffers = 1;
  EXPECT_TRUE(rank.start().tell(event::Fetched{0, tl::unexpected(OneRank::error())}).left());
  EXPECT_THAT(rank.actions<action::EndFetching>(), SizeIs(1));
  EXPECT_THAT(rank.actions<action::SendToAll>(), IsEmpty());
  EXPECT_TRUE(rank.scheduler->failure());
}

TEST(Scheduler, NothingToMoveIsDoneAtOnce) {
  OneRank rank(1, {{}, {}});
  EXPECT_TRUE(rank.start().left());
}

}  // namespace
}  // namespace stage_model::transfer
