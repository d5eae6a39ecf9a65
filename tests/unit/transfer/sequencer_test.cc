#include "engine/mpi/sequencer.h"

#include <gmock/gmock.h>

namespace stage_model::mpi {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Sequencer, OwnShardFirstThenTheTailOfTheFullest) {
  Sequencer sequencer({{1, 2}, {3, 4, 5, 6}, {}}, 6, true);
  EXPECT_THAT(sequencer.grant(0, 3), ElementsAre(1, 2, 6));
  EXPECT_EQ(sequencer.taken_over(), 1u);
  EXPECT_THAT(sequencer.grant(2, 1), ElementsAre(5));
  EXPECT_THAT(sequencer.grant(1, 9), ElementsAre(3, 4));
  EXPECT_THAT(sequencer.grant(1, 1), IsEmpty());
}

TEST(Sequencer, WithoutTakingOverEachKeepsItsShard) {
  Sequencer sequencer({{1}, {2, 3}}, 3, false);
  EXPECT_THAT(sequencer.grant(0, 3), ElementsAre(1));
  EXPECT_THAT(sequencer.grant(1, 3), ElementsAre(2, 3));
}

TEST(Sequencer, StopEndsTheListUnlessItIsComplete) {
  Sequencer sequencer({{0, 1}}, 2, true);
  EXPECT_EQ(sequencer.announce({0, 0, {}}).size(), 1u);
  EXPECT_TRUE(sequencer.stop());
  EXPECT_FALSE(sequencer.stop()) << "told once";
  EXPECT_TRUE(sequencer.announce({1, 0, {}}).empty());
  EXPECT_THAT(sequencer.grant(0, 1), IsEmpty());

  Sequencer complete({{0}}, 1, true);
  EXPECT_EQ(complete.announce({0, 0, {}}).size(), 1u);
  EXPECT_FALSE(complete.stop()) << "every rank can finish what is listed";
}

TEST(Sequencer, KeepsAnOrderWhenAsked) {
  Sequencer sequencer({{0, 2}, {1, 3}}, 4, false);
  sequencer.keep_order({0, 1, 2, 3});
  EXPECT_TRUE(sequencer.announce({1, 1, {}}).empty());
  EXPECT_TRUE(sequencer.announce({2, 0, {}}).empty());
  const auto next = sequencer.announce({0, 0, {}});
  ASSERT_EQ(next.size(), 3u);
  EXPECT_EQ(next[0].chunk, 0u);
  EXPECT_EQ(next[1].root, 1u);
  EXPECT_EQ(next[2].chunk, 2u);
  EXPECT_FALSE(sequencer.complete());
  EXPECT_EQ(sequencer.announce({3, 1, {}}).size(), 1u);
  EXPECT_TRUE(sequencer.complete());
}

}  // namespace
}  // namespace stage_model::mpi
