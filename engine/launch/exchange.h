// What MPI exchanges through PMIx: fences, which gather every node's contribution up the tree and
// bring the whole back down, and direct modex, which asks one rank for what it has published. Pure:
// what is to be sent or answered is added to the actions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/launch/actions.h"
#include "engine/launch/tree.h"
#include "engine/launch/wire.h"

namespace stage_model::launch {

// Puts the contributions to fences together, on one launcher.
class FenceGather {
 public:
  explicit FenceGather(const Tree& tree) : tree_(tree) {}

  // `from`: this launcher's own index, or a child. Returns what this whole subtree contributes, in
  // rank order, once the last part has come. A second contribution from one side, or one from a
  // side without members, is ignored.
  std::optional<std::string> add(const FenceKey& key, std::uint32_t from, std::string data);

  // Does anybody in [range) take part?
  static bool concerns(const FenceKey& key, const Subtree& range);

  void clear() { open_.clear(); }

 private:
  std::size_t expected(const FenceKey& key) const;

  const Tree& tree_;
  std::map<FenceKey, std::map<std::uint32_t, std::string>> open_;
};

class Exchange {
 public:
  // Both outlive it.
  Exchange(const Tree& tree, Actions& actions) : tree_(tree), gather_(tree), actions_(actions) {}

  void begin(std::uint32_t run);  // what is left of the run before is forgotten
  void engine_started();          // what was asked of it before is looked up now

  // From this node's PMIx. Members ascending; empty: everybody.
  void enter_fence(std::uint64_t ticket, std::vector<std::uint32_t> members, std::string data);
  void ask(std::uint64_t ticket, std::uint32_t rank);
  void published(std::uint64_t ask, std::int32_t status, const std::string& data);

  // From a neighbour. False: that is not what it may send.
  bool on_part(std::uint32_t child, const FenceData& part);
  void on_whole(const FenceData& whole);  // from the parent
  bool on_modex(std::uint32_t neighbour, MessageType type, const Modex& modex);

 private:
  void add_part(std::uint32_t from, const FenceData& part);
  void pass_on(MessageType type, const Modex& modex);
  void answer(const Modex& ask);

  const Tree& tree_;
  FenceGather gather_;
  Actions& actions_;
  std::uint32_t run_ = 0;
  bool engine_started_ = false;
  std::map<std::vector<std::uint32_t>, std::uint32_t> sequence_;  // next, per set of members
  std::map<FenceKey, std::uint64_t> fence_tickets_;
  std::map<std::uint64_t, std::uint64_t> modex_tickets_;  // message id → ticket
  std::uint64_t last_modex_ = 0;
  std::vector<Modex> early_;  // asks for an engine that has not started here
  std::map<std::uint64_t, Modex> looked_up_;
  std::uint64_t last_look_up_ = 0;
};

}  // namespace stage_model::launch
