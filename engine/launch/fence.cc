#include "engine/launch/fence.h"

#include <algorithm>

namespace stage_model::launch {

bool FenceBook::concerns(const FenceKey& key, const Subtree& range) {
  if (key.members.empty()) return true;
  const auto first = std::lower_bound(key.members.begin(), key.members.end(), range.head);
  return first != key.members.end() && *first < range.end;
}

std::size_t FenceBook::expected(const FenceKey& key) const {
  std::size_t count = concerns(key, {tree_.me(), tree_.me() + 1}) ? 1 : 0;
  for (const Subtree& child : tree_.children()) count += concerns(key, child) ? 1 : 0;
  return count;
}

std::optional<std::string> FenceBook::add(const FenceKey& key, std::uint32_t from,
                                          std::string data) {
  Subtree side{tree_.me(), tree_.me() + 1};
  if (from != tree_.me()) {
    const Subtree* child = tree_.child_towards(from);
    if (child == nullptr || child->head != from) return std::nullopt;
    side = *child;
  }
  if (!concerns(key, side)) return std::nullopt;
  auto& parts = open_[key];
  parts.emplace(from, std::move(data));
  if (parts.size() < expected(key)) return std::nullopt;
  std::string whole;
  for (const auto& [index, part] : parts) whole += part;
  open_.erase(key);
  return whole;
}

}  // namespace stage_model::launch
