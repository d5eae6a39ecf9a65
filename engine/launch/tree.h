// Who talks to whom. Index 0 is the root. Up to `star_limit` nodes all talk to it directly; above,
// each launcher serves a contiguous range of indexes that starts with itself, and shares the rest
// of it out over at most `fan_out` children. Contiguous, so that contributions put together in
// order of children are in rank order, and so that routing is a comparison.
#pragma once

#include <cstdint>
#include <vector>

namespace stage_model::launch {

struct Subtree {
  std::uint32_t head = 0;  // the child; it serves [head, end)
  std::uint32_t end = 0;
  bool contains(std::uint32_t index) const { return head <= index && index < end; }
};

class Tree {
 public:
  static constexpr std::uint32_t kStarLimit = 64;
  static constexpr std::uint32_t kFanOut = 32;

  // Requires me < nodes, fan_out >= 1.
  Tree(std::uint32_t nodes, std::uint32_t me, std::uint32_t star_limit = kStarLimit,
       std::uint32_t fan_out = kFanOut);

  std::uint32_t size() const { return nodes_; }
  std::uint32_t me() const { return own_.head; }
  bool is_root() const { return own_.head == 0; }
  std::uint32_t parent() const { return parent_; }  // 0 for the root itself
  const Subtree& own() const { return own_; }
  const std::vector<Subtree>& children() const { return children_; }

  // The child that serves `index`; nullptr: this launcher itself, or up.
  const Subtree* child_towards(std::uint32_t index) const;

  // The neighbour that is one step nearer to `index`, which is not this launcher.
  std::uint32_t towards(std::uint32_t index) const {
    const Subtree* child = child_towards(index);
    return child != nullptr ? child->head : parent_;
  }

  // Every index from `index` up to the root, without `index`.
  std::vector<std::uint32_t> ancestors(std::uint32_t index) const;

 private:
  std::vector<Subtree> split(const Subtree& range) const;

  std::uint32_t nodes_;
  std::uint32_t fan_out_;
  Subtree own_;
  std::uint32_t parent_ = 0;
  std::vector<Subtree> children_;
};

}  // namespace stage_model::launch
