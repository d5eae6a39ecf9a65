// How a rank's part ends early. Each of these was a hang, or a wrong cause, once.
#include <gmock/gmock.h>

#include <limits>

#include "tests/unit/transfer/one_rank.h"

namespace stage_model::transfer {
namespace {

using message::ChunkReady;
using message::EndOfList;
using message::GrantChunks;
using message::NextBroadcasts;
using message::RankFailed;
using message::RequestChunks;
using message::SourceAlive;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Cause kOther{{ExitCode::kDestination, "the disk is full"}, "n9"};

// ---- a failure is an entry too

TEST(SchedulerEnding, WhoFailsTellsRankZeroAndStartsNothingNew) {
  OneRank rank(1, {{}, {0, 1, 2}});
  rank.options.download_buffers = 1;
  rank.start().grant({0, 1}, 1);
  const auto failed =
      rank.tell(event::Fetched{0, tl::unexpected(OneRank::error())}).sent<RankFailed>();
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_EQ(failed[0].cause.error.message, "broken");
  EXPECT_EQ(failed[0].cause.node, "n1");
  EXPECT_THAT(rank.actions<action::EndFetching>(), SizeIs(1));
  EXPECT_THAT(rank.actions<action::Finishing>(), SizeIs(1));
  EXPECT_THAT(rank.chunks<action::Fetch>(), IsEmpty());
  EXPECT_FALSE(rank.left()) << "until rank 0 has ended the list";
  EXPECT_TRUE(rank.receive(EndOfList{failed[0].cause}).left());
  EXPECT_THAT(rank.actions<action::EndFetching>(), IsEmpty()) << "once";
}

TEST(SchedulerEnding, APartsFailureIsToldBeforeItsChunkHasEnded) {
  OneRank rank(1, {{}, {0}});
  rank.start().grant({0}, 2);
  EXPECT_THAT(rank.tell(event::Failed{OneRank::error()}).sent<RankFailed>(), SizeIs(1));
  EXPECT_EQ(rank.free(Pool::kDownload), rank.options.download_buffers - 1) << "still being filled";
  rank.tell(event::Fetched{0, tl::unexpected(OneRank::error())});
  EXPECT_THAT(rank.sent<RankFailed>(), IsEmpty()) << "once";
  EXPECT_EQ(rank.free(Pool::kDownload), rank.options.download_buffers);
}

TEST(SchedulerEnding, WhoFailedStillTakesPartInWhatIsListedAndThrowsItAway) {
  OneRank rank(1, {{0, 1}, {}});
  rank.start().tell(event::Failed{OneRank::error()});
  rank.list({OneRank::entry(0, 0)});
  EXPECT_THAT(rank.chunks<action::Broadcast>(), ElementsAre(0));
  EXPECT_THAT(rank.broadcast_done(0).chunks<action::Hash>(), IsEmpty());
  EXPECT_EQ(rank.free(Pool::kReceive), rank.options.receive_buffers);
}

TEST(SchedulerEnding, RankZeroEndsTheListBehindWhatWasListed) {
  OneRank zero(0, {{}, {0}, {1}});
  zero.downloads = false;
  zero.start().receive(ChunkReady{OneRank::entry(0, 1)}, 1, true);
  zero.receive(RankFailed{kOther}, 2);
  std::vector<std::size_t> kinds;
  for (const auto& send : zero.actions<action::SendToAll>()) kinds.push_back(send.message.index());
  EXPECT_THAT(kinds, ElementsAre(Message(NextBroadcasts{}).index(), Message(EndOfList{}).index()));
  ASSERT_TRUE(zero.scheduler->ended_by());
  EXPECT_EQ(zero.scheduler->ended_by()->node, "n9");
  EXPECT_FALSE(zero.left()) << "what was listed is broadcast";
  EXPECT_TRUE(zero.broadcast_done(0).left());
}

TEST(SchedulerEnding, TheFirstFailureIsTheCause) {
  OneRank zero(0, {{}, {0}, {1}});
  zero.start().receive(RankFailed{kOther}, 2);
  EXPECT_THAT(zero.receive(RankFailed{{OneRank::error(), "n1"}}, 1).sent_to_all<EndOfList>(),
              IsEmpty());
  EXPECT_EQ(zero.scheduler->ended_by()->node, "n9");
}

TEST(SchedulerEnding, WhatIsReadyAfterTheEndIsNotListed) {
  OneRank zero(0, {{}, {0, 2}, {1}});
  // So that rank 0 does not leave meanwhile.
  zero.start().receive(ChunkReady{OneRank::entry(0, 1)}, 1).receive(RankFailed{kOther}, 2);
  zero.receive(ChunkReady{OneRank::entry(2, 1)}, 1);
  EXPECT_THAT(zero.sent_to_all<NextBroadcasts>(), IsEmpty());
  EXPECT_THAT(zero.receive(RequestChunks{2}, 2).sent<GrantChunks>()[0].chunks, IsEmpty());
}

TEST(SchedulerEnding, ACompleteListNeedsNoStop) {
  OneRank zero(0, {{}, {0}});
  zero.start().receive(ChunkReady{OneRank::entry(0, 1)}, 1);
  zero.broadcast_done(0).hashed(0);
  zero.tell(event::Written{0, tl::unexpected(OneRank::error())});
  EXPECT_THAT(zero.sent_to_all<EndOfList>(), IsEmpty());
  EXPECT_TRUE(zero.left());
  EXPECT_FALSE(zero.scheduler->ended_by());
  ASSERT_TRUE(zero.scheduler->failure()) << "to be agreed upon";
  EXPECT_EQ(zero.scheduler->failure()->message, "broken");
}

TEST(SchedulerEnding, WhatWasAnnouncedButNotListedIsDropped) {
  OneRank rank(1, {{}, {0, 1, 2}});
  rank.start().grant({0, 1}, 2).fetched(0).hashed(0).fetched(1).hashed(1);
  rank.written(0).written(1);
  rank.list({OneRank::entry(0, 1)});
  EXPECT_EQ(rank.free(Pool::kDownload), rank.options.download_buffers - 2);
  rank.receive(EndOfList{kOther});
  EXPECT_EQ(rank.free(Pool::kDownload), rank.options.download_buffers - 1) << "chunk 1";
  EXPECT_FALSE(rank.left());
  EXPECT_TRUE(rank.broadcast_done(0).left());
}

TEST(SchedulerEnding, WhatWasListedButWaitsIsBroadcastAfterTheEnd) {
  OneRank rank(1, {{0}, {1}});
  rank.options.pipeline = 1;
  rank.start().grant({1}, 2).fetched(1).hashed(1).written(1);
  rank.list({OneRank::entry(0, 0), OneRank::entry(1, 1)}).receive(EndOfList{kOther});
  EXPECT_FALSE(rank.left());
  EXPECT_THAT(rank.broadcast_done(0).chunks<action::Broadcast>(), ElementsAre(1));
  EXPECT_TRUE(rank.broadcast_done(1).left());
}

TEST(SchedulerEnding, AChunkBeingHashedWhenTheListEndsIsForgotten) {
  OneRank rank(1, {{}, {0}});
  rank.start().grant({0}, 2).fetched(0).receive(EndOfList{kOther});
  EXPECT_FALSE(rank.left());
  EXPECT_TRUE(rank.hashed(0).left());
  EXPECT_THAT(rank.sent<ChunkReady>(), IsEmpty());
  EXPECT_THAT(rank.chunks<action::Write>(), IsEmpty());
}

TEST(SchedulerEnding, WhoHasLeftAnswersLateRequestsAndNothingElse) {
  OneRank zero(0, {{}, {0}});
  zero.start().receive(ChunkReady{OneRank::entry(0, 1)}, 1);
  ASSERT_TRUE(zero.broadcast_done(0).hashed(0).written(0).left());
  EXPECT_THAT(zero.receive(RequestChunks{1}, 1).sent<GrantChunks>(), SizeIs(1));
  EXPECT_THAT(zero.receive(RankFailed{kOther}, 1).decided, IsEmpty());
  EXPECT_THAT(zero.receive(SourceAlive{}, 1).decided, IsEmpty());
  EXPECT_EQ(zero.scheduler->next_tick(), std::numeric_limits<double>::infinity());
}

// ---- standing still

TEST(SchedulerEnding, WhereNothingMovesForTheWholeLimitItFails) {
  OneRank rank(1, {{0}, {}});
  rank.options.stall_timeout_s = 16;
  rank.start();
  EXPECT_EQ(rank.scheduler->next_tick(), 1) << "a sixteenth";
  EXPECT_THAT(rank.tick(15.9).sent<RankFailed>(), IsEmpty());
  const auto failed = rank.tick(16).sent<RankFailed>();
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_EQ(failed[0].cause.error.code, ExitCode::kStopped);
  EXPECT_THAT(failed[0].cause.error.message, HasSubstr("nothing moved on this node for 16 s"));
}

TEST(SchedulerEnding, WhateverHappensIsNoStandstill) {
  OneRank rank(1, {{0}, {}});
  rank.options.stall_timeout_s = 16;
  rank.start();
  rank.now = 10;
  rank.list({OneRank::entry(0, 0)});
  EXPECT_THAT(rank.tick(25.9).sent<RankFailed>(), IsEmpty());
  EXPECT_THAT(rank.tick(26).sent<RankFailed>(), SizeIs(1));
}

TEST(SchedulerEnding, ASourceThatTricklesIsNoStandstillAndTheOthersHearOfIt) {
  OneRank rank(1, {{}, {0}});
  rank.options.stall_timeout_s = 16;
  rank.start().grant({0}, 2);
  for (int second = 1; second <= 100; ++second) {
    rank.tick(second, static_cast<std::uint64_t>(second));
    EXPECT_THAT(rank.sent<SourceAlive>(), SizeIs(1)) << second;
  }
  EXPECT_THAT(rank.tick(115.9, 100).sent<RankFailed>(), IsEmpty());
  EXPECT_THAT(rank.tick(116, 100).sent<RankFailed>(), SizeIs(1));
}

TEST(SchedulerEnding, RankZeroPassesSignsOfLifeOnButNotEachOne) {
  OneRank zero(0, {{}, {0}, {1}});
  zero.options.stall_timeout_s = 16;
  zero.start();
  zero.now = 5;
  EXPECT_THAT(zero.receive(SourceAlive{}, 1).sent_to_all<SourceAlive>(), SizeIs(1));
  EXPECT_THAT(zero.receive(SourceAlive{}, 2).sent_to_all<SourceAlive>(), IsEmpty());
  zero.now = 6;
  EXPECT_THAT(zero.receive(SourceAlive{}, 2).sent_to_all<SourceAlive>(), SizeIs(1));
}

TEST(SchedulerEnding, WhoHearsOfAnothersSourceDoesNotStall) {
  OneRank rank(2, {{0}, {}, {}});
  rank.options.stall_timeout_s = 16;
  rank.start();
  rank.now = 15;
  rank.receive(SourceAlive{});
  EXPECT_THAT(rank.tick(20).sent<RankFailed>(), IsEmpty());
}

// ---- ending, and not getting there

TEST(SchedulerEnding, WhatDoesNotComeBackIsGivenUpAndTheOthersFailureNamed) {
  OneRank rank(1, {{}, {0}});
  rank.options.stall_timeout_s = 16;
  rank.start().grant({0}, 2);
  rank.receive(EndOfList{kOther});
  EXPECT_EQ(rank.scheduler->next_tick(), 16 + kLastWord);
  EXPECT_THAT(rank.tick(30.9).actions<action::GiveUp>(), IsEmpty())
      << "each rank has its chance to say why";
  const auto given_up = rank.tick(31).actions<action::GiveUp>();
  ASSERT_THAT(given_up, SizeIs(1));
  EXPECT_EQ(given_up[0].error.code, ExitCode::kDestination);
  EXPECT_THAT(given_up[0].error.message, HasSubstr("n9 failed (the disk is full)"));
  EXPECT_TRUE(rank.scheduler->finished());
  EXPECT_THAT(rank.tick(99).decided, IsEmpty()) << "nothing follows";
}

TEST(SchedulerEnding, ItsOwnFailureIsItsLastWord) {
  OneRank rank(1, {{}, {0}});
  rank.options.stall_timeout_s = 4;
  rank.start().grant({0}, 2);
  rank.tell(event::Failed{OneRank::error()}).receive(EndOfList{kOther});
  const auto given_up = rank.tick(8).actions<action::GiveUp>();
  ASSERT_THAT(given_up, SizeIs(1));
  EXPECT_EQ(given_up[0].error.message, "broken");
}

TEST(SchedulerEnding, ThatTheOthersEndTooIsNoProgress) {
  OneRank rank(1, {{}, {0}});
  rank.options.stall_timeout_s = 4;
  rank.start().grant({0}, 2);
  rank.receive(EndOfList{kOther});
  rank.now = 7;
  rank.receive(SourceAlive{});
  EXPECT_THAT(rank.tick(8).actions<action::GiveUp>(), SizeIs(1));
}

TEST(SchedulerEnding, ARequestedStopIsAFailureOfThisRank) {
  OneRank rank(1, {{}, {0}});
  rank.start().grant({0}, 2);
  rank.tell(event::StopRequested{{ExitCode::kStopped, "cancelled"}});
  ASSERT_THAT(rank.sent<RankFailed>(), SizeIs(1));
  EXPECT_EQ(rank.sent<RankFailed>()[0].cause.error.message, "cancelled");
}

TEST(SchedulerEnding, ARequestedStopWaitsForAnOrderlyEndButNotForLong) {
  OneRank rank(1, {{}, {0}});
  rank.start().grant({0}, 2);
  rank.now = 1;
  rank.receive(EndOfList{kOther});
  rank.now = 2;
  EXPECT_THAT(rank.tell(event::StopRequested{OneRank::error()}).sent<RankFailed>(), IsEmpty());
  EXPECT_EQ(rank.scheduler->next_tick(), 1 + kOrderlyEnd);
  EXPECT_THAT(rank.tick(5.9).actions<action::GiveUp>(), IsEmpty());
  EXPECT_THAT(rank.tick(6).actions<action::GiveUp>(), SizeIs(1));
}

}  // namespace
}  // namespace stage_model::transfer
