#include "engine/launch/exchange.h"

#include <algorithm>
#include <utility>

namespace stage_model::launch {

bool FenceGather::concerns(const FenceKey& key, const Subtree& range) {
  if (key.members.empty()) return true;
  const auto first = std::lower_bound(key.members.begin(), key.members.end(), range.head);
  return first != key.members.end() && *first < range.end;
}

std::size_t FenceGather::expected(const FenceKey& key) const {
  std::size_t count = concerns(key, {tree_.me(), tree_.me() + 1}) ? 1 : 0;
  for (const Subtree& child : tree_.children()) count += concerns(key, child) ? 1 : 0;
  return count;
}

std::optional<std::string> FenceGather::add(const FenceKey& key, std::uint32_t from,
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

void Exchange::begin(std::uint32_t run) {
  run_ = run;
  engine_started_ = false;
  gather_.clear();
  sequence_.clear();
  fence_tickets_.clear();
  modex_tickets_.clear();
  looked_up_.clear();
}

void Exchange::engine_started() {
  engine_started_ = true;
  std::vector<Modex> asks;
  asks.swap(early_);
  for (const Modex& ask : asks) answer(ask);
}

void Exchange::enter_fence(std::uint64_t ticket, std::vector<std::uint32_t> members,
                           std::string data) {
  if (members.size() == tree_.size()) members.clear();
  const FenceData own{{run_, sequence_[members]++, members}, std::move(data)};
  fence_tickets_[own.key] = ticket;
  add_part(tree_.me(), own);
}

bool Exchange::on_part(std::uint32_t child, const FenceData& part) {
  if (!part.key.members.empty() && part.key.members.back() >= tree_.size()) return false;
  add_part(child, part);
  return true;
}

void Exchange::add_part(std::uint32_t from, const FenceData& part) {
  if (part.key.run != run_) return;
  std::optional<std::string> whole = gather_.add(part.key, from, part.data);
  if (!whole) return;
  const FenceData combined{part.key, std::move(*whole)};
  if (tree_.is_root()) {
    on_whole(combined);
  } else {
    actions_.push_back(Send{{tree_.parent()}, MessageType::kFence, encode(combined)});
  }
}

void Exchange::on_whole(const FenceData& whole) {
  if (whole.key.run != run_) return;
  Send down{{}, MessageType::kFenceDone, {}};
  for (const Subtree& child : tree_.children()) {
    if (FenceGather::concerns(whole.key, child)) down.to.push_back(child.head);
  }
  if (!down.to.empty()) {
    down.body = encode(whole);
    actions_.push_back(std::move(down));
  }
  const auto ticket = fence_tickets_.find(whole.key);
  if (ticket == fence_tickets_.end()) return;
  actions_.push_back(CompleteFence{ticket->second, whole.data});
  fence_tickets_.erase(ticket);
}

void Exchange::ask(std::uint64_t ticket, std::uint32_t rank) {
  Modex ask;
  ask.run = run_;
  ask.from = tree_.me();
  ask.to = rank;
  ask.id = ++last_modex_;
  modex_tickets_[ask.id] = ticket;
  pass_on(MessageType::kModexAsk, ask);
}

bool Exchange::on_modex(std::uint32_t neighbour, MessageType type, const Modex& modex) {
  if (modex.from >= tree_.size() || modex.to >= tree_.size()) return false;
  // One that would go back to where it came from would go to and fro for ever.
  if (modex.to != tree_.me() && tree_.towards(modex.to) == neighbour) return false;
  pass_on(type, modex);
  return true;
}

void Exchange::pass_on(MessageType type, const Modex& modex) {
  if (modex.to >= tree_.size()) return;
  if (modex.to != tree_.me()) {
    actions_.push_back(Send{{tree_.towards(modex.to)}, type, encode(modex)});
  } else if (type == MessageType::kModexAsk) {
    answer(modex);
  } else if (modex.run == run_) {
    const auto ticket = modex_tickets_.find(modex.id);
    if (ticket == modex_tickets_.end()) return;
    actions_.push_back(CompleteModex{ticket->second, modex.status, modex.data});
    modex_tickets_.erase(ticket);
  }
}

void Exchange::answer(const Modex& ask) {
  if (engine_started_ && ask.run == run_) {
    looked_up_[++last_look_up_] = ask;
    actions_.push_back(LookUpPublished{last_look_up_});
    return;
  }
  const bool ahead = ask.run > run_ || (ask.run == run_ && !engine_started_);
  if (ahead && early_.size() < tree_.size()) early_.push_back(ask);
}

void Exchange::published(std::uint64_t ask, std::int32_t status, const std::string& data) {
  const auto asked = looked_up_.find(ask);
  if (asked == looked_up_.end()) return;
  Modex reply = std::move(asked->second);
  looked_up_.erase(asked);
  std::swap(reply.from, reply.to);
  reply.status = status;
  reply.data = data;
  pass_on(MessageType::kModexReply, reply);
}

}  // namespace stage_model::launch
