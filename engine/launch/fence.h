// Puts the contributions to PMIx fences together on their way up the tree. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/launch/tree.h"
#include "engine/launch/wire.h"

namespace stage_model::launch {

class FenceBook {
 public:
  explicit FenceBook(const Tree& tree) : tree_(tree) {}

  // `from`: this launcher's own index, or a child. Returns what this whole subtree contributes, in
  // rank order, once the last part has come. A second contribution from one side, or one from a
  // side without members, is ignored.
  std::optional<std::string> add(const FenceKey& key, std::uint32_t from, std::string data);

  // Does anybody in [range) take part?
  static bool concerns(const FenceKey& key, const Subtree& range);

  // A new run: what is left of the one before is forgotten.
  void clear() { open_.clear(); }

 private:
  std::size_t expected(const FenceKey& key) const;

  const Tree& tree_;
  std::map<FenceKey, std::map<std::uint32_t, std::string>> open_;
};

}  // namespace stage_model::launch
