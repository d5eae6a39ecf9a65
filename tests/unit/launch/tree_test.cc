#include "engine/launch/tree.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stage_model::launch {
namespace {

TEST(Tree, AStarUpToTheLimit) {
  const Tree root(64, 0);
  EXPECT_EQ(root.children().size(), 63U);
  const Tree leaf(64, 63);
  EXPECT_EQ(leaf.parent(), 0U);
  EXPECT_TRUE(leaf.children().empty());
}

TEST(Tree, OneNodeHasNobody) {
  const Tree alone(1, 0);
  EXPECT_TRUE(alone.is_root());
  EXPECT_TRUE(alone.children().empty());
}

// Every index is somebody's child exactly once, ranges are contiguous and in order, and routes
// work.
TEST(Tree, EverybodyIsServedOnce) {
  for (const std::uint32_t nodes : {2U, 3U, 8U, 65U, 100U, 1000U, 4096U}) {
    std::vector<int> served(nodes, 0);
    for (std::uint32_t me = 0; me < nodes; ++me) {
      const Tree tree(nodes, me);
      EXPECT_LE(tree.children().size(), 63U);
      std::uint32_t next = me + 1;
      for (const Subtree& child : tree.children()) {
        EXPECT_EQ(child.head, next);
        EXPECT_LT(child.head, child.end);
        next = child.end;
        ++served[child.head];
        EXPECT_EQ(Tree(nodes, child.head).parent(), me);
      }
      EXPECT_EQ(next, tree.own().end);
      const auto above = tree.ancestors(me);
      if (me != 0) {
        EXPECT_EQ(above.front(), tree.parent());
        EXPECT_EQ(above.back(), 0U);
        EXPECT_LE(above.size(), 3U) << "depth with " << nodes;
      }
    }
    EXPECT_EQ(served[0], 0);
    EXPECT_TRUE(std::all_of(served.begin() + 1, served.end(), [](int n) { return n == 1; }));
  }
}

TEST(Tree, KnowsTheChildTowardsAnIndex) {
  const Tree tree(8, 0, 1, 2);
  ASSERT_EQ(tree.children().size(), 2U);
  EXPECT_EQ(tree.child_towards(3)->head, 1U);
  EXPECT_EQ(tree.child_towards(7)->head, 5U);
  EXPECT_EQ(tree.child_towards(0), nullptr);
  EXPECT_EQ(Tree(8, 5, 1, 2).child_towards(1), nullptr) << "up";
}

}  // namespace
}  // namespace stage_model::launch
