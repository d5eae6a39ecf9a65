#include "engine/launch/mesh.h"

#include <fmt/format.h>

#include <algorithm>

namespace stage_model::launch {
namespace {

constexpr std::size_t kNamesInMessage = 4;

}  // namespace

Mesh::Mesh(Loop& loop, Authenticator& authenticator, const Tree& tree, const Config& config,
           const LaunchOrder& request, bool may_return, MeshEvents events)
    : loop_(loop),
      tree_(tree),
      config_(config),
      request_(request),
      events_(std::move(events)),
      waiting_(may_return) {
  if (!tree.children().empty()) {
    listener_ = std::make_unique<Listener>(
        loop, authenticator, tree, request.job,
        [this](std::uint32_t child, const std::shared_ptr<Link>& link) { on_child(child, link); });
  }
  if (!tree.is_root()) {
    connector_ = std::make_unique<Connector>(
        loop, authenticator, tree, config, request.job, request.nodes[tree.parent()],
        [this](const std::shared_ptr<Link>& link) { on_parent(link); });
  }
}

Status Mesh::start() {
  if (listener_) {
    if (Status listening = listener_->start(config_.launcher_ports); !listening) return listening;
  }
  if (connector_) connector_->start();
  last_beat_ = now();
  beat();
  return {};
}

void Mesh::stop_waiting() { waiting_ = false; }

void Mesh::stop_listening() {
  if (listener_) listener_->stop();
}

void Mesh::finish() {
  finishing_ = true;
  if (connector_) connector_->stop();
  for (const auto& [index, link] : links_) link->finish();
}

bool Mesh::is_finished() const {
  return std::all_of(links_.begin(), links_.end(),
                     [](const auto& entry) { return !entry.second->is_open(); });
}

void Mesh::send_up(MessageType type, const std::string& body) {
  const auto parent = links_.find(tree_.parent());
  if (tree_.is_root() || parent == links_.end()) {
    waiting_up_.emplace_back(type, body);
  } else {
    parent->second->send(type, body);
  }
}

void Mesh::send_down(MessageType type, const std::string& body) {
  for (const Subtree& child : tree_.children()) send_to(child.head, type, body);
}

void Mesh::send_to(std::uint32_t neighbour, MessageType type, const std::string& body) {
  const auto link = links_.find(neighbour);
  if (link != links_.end()) link->second->send(type, body);
}

void Mesh::send_towards(std::uint32_t index, MessageType type, const std::string& body) {
  const Subtree* child = tree_.child_towards(index);
  send_to(child != nullptr ? child->head : tree_.parent(), type, body);
}

bool Mesh::has_parent() const {
  const auto parent = links_.find(tree_.parent());
  return !tree_.is_root() && parent != links_.end() && parent->second->is_open();
}

bool Mesh::has_all_children() const { return absent_children().empty(); }

std::vector<std::uint32_t> Mesh::absent_children() const {
  std::vector<std::uint32_t> absent;
  for (const Subtree& child : tree_.children()) {
    if (links_.count(child.head) == 0) absent.push_back(child.head);
  }
  return absent;
}

std::string Mesh::local_address() const { return local_address_; }

std::string Mesh::missing_nodes() const {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t index = 1; index < tree_.size(); ++index) {
    if (met_.count(index) != 0) continue;
    // Below a launcher that is missing itself nobody could come.
    const std::vector<std::uint32_t> above = tree_.ancestors(index);
    const std::uint32_t parent = above.front();
    if (parent == 0 || met_.count(parent) != 0) missing.push_back(index);
  }
  std::string names;
  for (std::size_t i = 0; i < missing.size() && i < kNamesInMessage; ++i) {
    names += (i == 0 ? "" : ", ") + request_.nodes[missing[i]].name;
    const std::string problem = listener_ ? listener_->problem_of(missing[i]) : "";
    if (!problem.empty()) names += fmt::format(" ({})", problem);
  }
  if (missing.size() > kNamesInMessage) {
    names += fmt::format(" and {} more", missing.size() - kNamesInMessage);
  }
  return names;
}

std::string Mesh::parent_problem() const { return connector_ ? connector_->problem() : ""; }

void Mesh::on_child(std::uint32_t child, const std::shared_ptr<Link>& link) {
  adopt(child, link);
  on_met(child);
}

void Mesh::on_parent(const std::shared_ptr<Link>& link) {
  adopt(tree_.parent(), link);
  // A parent that was started again knows nothing of who is below here.
  for (const std::uint32_t index : met_) {
    link->send(MessageType::kMet, encode_number(index));
  }
  for (const auto& [type, body] : waiting_up_) link->send(type, body);
  waiting_up_.clear();
}

void Mesh::adopt(std::uint32_t neighbour, const std::shared_ptr<Link>& link) {
  if (local_address_.empty()) local_address_ = link->local_address();
  links_[neighbour] = link;
  link->forgive_silence();
  link->set_handlers([this, neighbour](const Frame& frame) { on_message(neighbour, frame); },
                     [this, neighbour](const std::string& why) { on_lost(neighbour, why); });
  events_.linked(neighbour);
  if (finishing_) link->finish();
}

void Mesh::on_met(std::uint32_t index) {
  if (index == 0 || index >= tree_.size()) return;
  const bool is_new = met_.insert(index).second;
  if (tree_.is_root()) {
    if (is_new && is_complete()) events_.all_met();
  } else if (has_parent()) {
    send_up(MessageType::kMet, encode_number(index));
  }
}

void Mesh::on_left(std::uint32_t index) {
  // Who is below it has lost it too, and goes looking for it again.
  for (auto met = met_.begin(); met != met_.end();) {
    const std::vector<std::uint32_t> above = tree_.ancestors(*met);
    const bool gone = *met == index || std::find(above.begin(), above.end(), index) != above.end();
    met = gone ? met_.erase(met) : std::next(met);
  }
  if (has_parent()) send_up(MessageType::kLeft, encode_number(index));
}

void Mesh::on_message(std::uint32_t neighbour, const Frame& frame) {
  if (frame.type == MessageType::kBeat) return;
  if (frame.type != MessageType::kMet && frame.type != MessageType::kLeft) {
    events_.message(neighbour, frame);
    return;
  }
  const std::optional<std::uint32_t> index = decode_number(frame.body);
  const Subtree* child = index ? tree_.child_towards(*index) : nullptr;
  if (child == nullptr || child->head != neighbour) return;
  if (frame.type == MessageType::kMet) {
    on_met(*index);
  } else if (waiting_) {
    on_left(*index);
  }
}

void Mesh::on_lost(std::uint32_t neighbour, const std::string& why) {
  const auto link = links_.find(neighbour);
  if (link != links_.end()) link->second->close();
  if (finishing_) return;
  if (waiting_) {
    events_.left(neighbour, why);
    let_return(neighbour);
  } else {
    events_.lost(neighbour, why);
  }
}

void Mesh::let_return(std::uint32_t neighbour) {
  links_.erase(neighbour);
  if (!tree_.is_root() && neighbour == tree_.parent()) {
    connector_->start();
  } else {
    listener_->let_return(neighbour);
    on_left(neighbour);
  }
}

void Mesh::beat() {
  const double period = std::clamp(config_.heartbeat_timeout_s / 5, 0.05, 1.0);
  const double time = now();
  // If it was this launcher that slept (a machine suspended, a long call), the others' messages
  // wait in the sockets: the silence is not theirs.
  const bool slept = time - last_beat_ > 2 * period + 0.5;
  last_beat_ = time;
  std::vector<std::uint32_t> silent;
  for (const auto& [index, link] : links_) {
    if (!link->is_open()) continue;
    link->send(MessageType::kBeat, "");
    if (slept) link->forgive_silence();
    if (time - link->last_heard() > config_.heartbeat_timeout_s) silent.push_back(index);
  }
  for (const std::uint32_t index : silent) {
    on_lost(index, fmt::format("silent for {:g} s", config_.heartbeat_timeout_s));
  }
  loop_.after(period, [this] { beat(); });
}

}  // namespace stage_model::launch
