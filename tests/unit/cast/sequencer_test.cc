#include "engine/cast/sequencer.h"

#include <gmock/gmock.h>

namespace stage_model::cast {
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
  EXPECT_TRUE(sequencer.announce({0, 0, {}}).has_value());
  EXPECT_TRUE(sequencer.stop());
  EXPECT_FALSE(sequencer.stop()) << "told once";
  EXPECT_FALSE(sequencer.announce({1, 0, {}}).has_value());
  EXPECT_THAT(sequencer.grant(0, 1), IsEmpty());

  Sequencer complete({{0}}, 1, true);
  EXPECT_TRUE(complete.announce({0, 0, {}}).has_value());
  EXPECT_FALSE(complete.stop()) << "every rank can finish what is listed";
}

}  // namespace
}  // namespace stage_model::cast
