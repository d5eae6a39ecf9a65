#include "engine/launch/tree.h"

#include <algorithm>

namespace stage_model::launch {

Tree::Tree(std::uint32_t nodes, std::uint32_t me, std::uint32_t star_limit, std::uint32_t fan_out)
    : nodes_(nodes), fan_out_(nodes <= star_limit ? std::max(nodes, 1U) : fan_out), own_{0, nodes} {
  while (own_.head != me) {
    for (const Subtree& child : split(own_)) {
      if (!child.contains(me)) continue;
      parent_ = own_.head;
      own_ = child;
      break;
    }
  }
  children_ = split(own_);
}

std::vector<Subtree> Tree::split(const Subtree& range) const {
  std::vector<Subtree> parts;
  const std::uint32_t rest = range.end - range.head - 1;
  const std::uint32_t count = std::min(rest, fan_out_);
  std::uint32_t begin = range.head + 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t length = rest / count + (i < rest % count ? 1 : 0);
    parts.push_back({begin, begin + length});
    begin += length;
  }
  return parts;
}

const Subtree* Tree::child_towards(std::uint32_t index) const {
  for (const Subtree& child : children_) {
    if (child.contains(index)) return &child;
  }
  return nullptr;
}

std::vector<std::uint32_t> Tree::ancestors(std::uint32_t index) const {
  std::vector<std::uint32_t> found;
  Subtree at{0, nodes_};
  while (at.head != index && at.contains(index)) {
    found.push_back(at.head);
    for (const Subtree& child : split(at)) {
      if (!child.contains(index)) continue;
      at = child;
      break;
    }
  }
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace stage_model::launch
