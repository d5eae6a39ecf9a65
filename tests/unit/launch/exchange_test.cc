#include "engine/launch/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>

namespace stage_model::launch {
namespace {

// All launchers of a tree in one process: contributes in random order, returns what the root gets.
std::string gather(std::uint32_t nodes, const FenceKey& key, unsigned seed) {
  std::vector<std::unique_ptr<Tree>> trees;
  std::vector<std::unique_ptr<FenceGather>> books;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    trees.push_back(std::make_unique<Tree>(nodes, i, 1, 2));
    books.push_back(std::make_unique<FenceGather>(*trees.back()));
  }
  std::vector<std::uint32_t> order = key.members;
  for (std::uint32_t i = 0; key.members.empty() && i < nodes; ++i) order.push_back(i);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  std::string result = "(incomplete)";
  const std::function<void(std::uint32_t, std::uint32_t, std::string)> add =
      [&](std::uint32_t at, std::uint32_t from, std::string data) {
        const auto whole = books[at]->add(key, from, std::move(data));
        if (!whole) return;
        if (at == 0) {
          result = *whole;
        } else {
          add(trees[at]->parent(), at, *whole);
        }
      };
  for (const std::uint32_t i : order) add(i, i, std::string(1, static_cast<char>('a' + i)));
  return result;
}

TEST(Fence, ComesOutInRankOrderWhateverTheOrderOfArrival) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(gather(8, {0, 0, {}}, seed), "abcdefgh");
    EXPECT_EQ(gather(1, {0, 0, {}}, seed), "a");
    EXPECT_EQ(gather(8, {0, 0, {2, 3, 7}}, seed), "cdh");
    EXPECT_EQ(gather(8, {0, 0, {6}}, seed), "g");
  }
}

TEST(Fence, SecondContributionsAndStrangersAreIgnored) {
  const Tree tree(3, 0);
  FenceGather book(tree);
  const FenceKey key{0, 0, {0, 1}};
  EXPECT_FALSE(book.add(key, 2, "x")) << "not a member";
  EXPECT_FALSE(book.add(key, 9, "x")) << "not a child";
  EXPECT_FALSE(book.add(key, 1, "b"));
  EXPECT_FALSE(book.add(key, 1, "again"));
  EXPECT_EQ(book.add(key, 0, "a"), "ab");
}

TEST(Fence, FencesOfDifferentSequenceDoNotMix) {
  const Tree tree(2, 0);
  FenceGather book(tree);
  EXPECT_FALSE(book.add({0, 1, {}}, 1, "late"));
  EXPECT_FALSE(book.add({0, 0, {}}, 0, "a"));
  EXPECT_EQ(book.add({0, 0, {}}, 1, "b"), "ab");
}

}  // namespace
}  // namespace stage_model::launch
