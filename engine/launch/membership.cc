#include "engine/launch/membership.h"

#include <fmt/format.h>

#include <algorithm>

namespace stage_model::launch {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kNamesInMessage = 4;

}  // namespace

Membership::Membership(const Tree& tree, const std::vector<Node>& nodes, Options options,
                       Actions& actions)
    : tree_(tree),
      nodes_(nodes),
      options_(options),
      actions_(actions),
      period_(std::clamp(options.heartbeat_timeout_s / 5, 0.05, 1.0)),
      open_(options.may_return) {}

void Membership::start(double now) {
  if (tree_.size() == 1) return;
  last_beat_ = now;
  next_beat_ = now + period_;
  if (!tree_.is_root()) actions_.push_back(FindParent{});
}

void Membership::finish() {
  finishing_ = true;
  next_beat_ = kNever;
  actions_.push_back(FinishLinks{});
}

bool Membership::admits(std::uint32_t child) const {
  const Subtree* range = tree_.child_towards(child);
  return range != nullptr && range->head == child && neighbours_.count(child) == 0;
}

void Membership::link_up(double now, std::uint32_t neighbour) {
  neighbours_[neighbour] = {now, true};
  if (neighbour != tree_.parent() || tree_.is_root()) {
    add(neighbour);
  } else {
    // A parent that was started again knows nothing of who is below here.
    for (const std::uint32_t index : met_) {
      actions_.push_back(Send{{neighbour}, MessageType::kMet, encode_number(index)});
    }
  }
  if (finishing_) actions_.push_back(FinishLinks{});
}

Membership::Loss Membership::link_down(std::uint32_t neighbour) {
  const auto found = neighbours_.find(neighbour);
  if (found == neighbours_.end() || !found->second.up) return Loss::kIgnored;
  found->second.up = false;
  if (finishing_) return Loss::kIgnored;
  if (!open_) return Loss::kLost;
  neighbours_.erase(found);
  if (!tree_.is_root() && neighbour == tree_.parent()) {
    actions_.push_back(FindParent{});
  } else {
    remove(neighbour);
  }
  return Loss::kMayReturn;
}

void Membership::heard(std::uint32_t neighbour, double when) {
  const auto found = neighbours_.find(neighbour);
  if (found != neighbours_.end()) {
    found->second.last_heard = std::max(found->second.last_heard, when);
  }
}

bool Membership::is_below(std::uint32_t child, std::uint32_t index) const {
  const Subtree* range = tree_.child_towards(index);
  return range != nullptr && range->head == child;
}

bool Membership::on_met(std::uint32_t child, std::uint32_t index) {
  if (!is_below(child, index)) return false;
  add(index);
  return true;
}

bool Membership::on_left(std::uint32_t child, std::uint32_t index) {
  if (!is_below(child, index)) return false;
  if (open_) remove(index);
  return true;
}

void Membership::add(std::uint32_t index) {
  met_.insert(index);
  if (has_parent()) {
    actions_.push_back(Send{{tree_.parent()}, MessageType::kMet, encode_number(index)});
  }
}

void Membership::remove(std::uint32_t index) {
  // Who is below it has lost it too, and goes looking for it again.
  for (auto met = met_.begin(); met != met_.end();) {
    const std::vector<std::uint32_t> above = tree_.ancestors(*met);
    const bool gone = *met == index || std::find(above.begin(), above.end(), index) != above.end();
    met = gone ? met_.erase(met) : std::next(met);
  }
  if (has_parent()) {
    actions_.push_back(Send{{tree_.parent()}, MessageType::kLeft, encode_number(index)});
  }
}

std::vector<std::uint32_t> Membership::tick(double now) {
  if (now < next_beat_) return {};
  // If it was this launcher that slept (a machine suspended, a long call), the others' messages
  // wait in the sockets: the silence is not theirs.
  const bool slept = now - last_beat_ > options_.heartbeat_timeout_s / 2;
  last_beat_ = now;
  next_beat_ = now + period_;
  std::vector<std::uint32_t> silent;
  Send beat;
  for (auto& [index, neighbour] : neighbours_) {
    if (!neighbour.up) continue;
    beat.to.push_back(index);
    if (slept) neighbour.last_heard = now;
    if (now - neighbour.last_heard > options_.heartbeat_timeout_s) silent.push_back(index);
  }
  if (!beat.to.empty()) actions_.push_back(std::move(beat));
  return silent;
}

bool Membership::is_linked(std::uint32_t neighbour) const {
  const auto found = neighbours_.find(neighbour);
  return found != neighbours_.end() && found->second.up;
}

bool Membership::is_quiet() const {
  return std::none_of(neighbours_.begin(), neighbours_.end(),
                      [](const auto& entry) { return entry.second.up; });
}

std::vector<std::uint32_t> Membership::absent_children() const {
  std::vector<std::uint32_t> absent;
  for (const Subtree& child : tree_.children()) {
    if (neighbours_.count(child.head) == 0) absent.push_back(child.head);
  }
  return absent;
}

std::string Membership::missing_nodes() const {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t index = 1; index < tree_.size(); ++index) {
    if (met_.count(index) != 0) continue;
    // Below a launcher that is missing itself nobody could come.
    const std::uint32_t parent = tree_.ancestors(index).front();
    if (parent == 0 || met_.count(parent) != 0) missing.push_back(index);
  }
  std::string names;
  for (std::size_t i = 0; i < missing.size() && i < kNamesInMessage; ++i) {
    names += (i == 0 ? "" : ", ") + nodes_[missing[i]].name;
    const auto refusal = refusals_.find(missing[i]);
    if (refusal != refusals_.end()) names += fmt::format(" ({})", refusal->second);
  }
  if (missing.size() > kNamesInMessage) {
    names += fmt::format(" and {} more", missing.size() - kNamesInMessage);
  }
  return names;
}

}  // namespace stage_model::launch
