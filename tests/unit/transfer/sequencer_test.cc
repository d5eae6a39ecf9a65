#include "engine/transfer/sequencer.h"

#include <gmock/gmock.h>

namespace stage_model::transfer {
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
  EXPECT_TRUE(sequencer.announce());
  EXPECT_FALSE(sequencer.complete());
  EXPECT_TRUE(sequencer.stop());
  EXPECT_FALSE(sequencer.stop()) << "told once";
  EXPECT_FALSE(sequencer.announce());
  EXPECT_THAT(sequencer.grant(0, 1), IsEmpty());

  Sequencer complete({{0}}, 1, true);
  EXPECT_TRUE(complete.announce());
  EXPECT_TRUE(complete.complete());
  EXPECT_FALSE(complete.stop()) << "every rank can finish what is listed";
}

}  // namespace
}  // namespace stage_model::transfer
