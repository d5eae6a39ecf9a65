#include "engine/launch/links.h"

#include <utility>

namespace stage_model::launch {

Links::Links(Loop& loop, Authenticator& authenticator, const Tree& tree, const Config& config,
             const LaunchOrder& request, LinkEvents events)
    : events_(std::move(events)), config_(config) {
  if (!tree.children().empty()) {
    ListenerEvents listening;
    listening.admits = events_.admits;
    listening.refused = events_.refused;
    listening.linked = [this](std::uint32_t child, const std::shared_ptr<Link>& link) {
      adopt(child, link);
    };
    listener_ = std::make_unique<Listener>(loop, authenticator, tree, request.job, listening);
  }
  if (!tree.is_root()) {
    const std::uint32_t parent = tree.parent();
    connector_ = std::make_unique<Connector>(
        loop, authenticator, tree, config, request.job, request.nodes[parent],
        [this, parent](const std::shared_ptr<Link>& link) { adopt(parent, link); });
  }
}

Status Links::listen() { return listener_ ? listener_->start(config_.launcher_ports) : Status{}; }

void Links::find_parent() {
  if (connector_) connector_->start();
}

void Links::send(const std::vector<std::uint32_t>& to, MessageType type, const std::string& body) {
  for (const std::uint32_t neighbour : to) {
    const auto link = links_.find(neighbour);
    if (link != links_.end()) link->second->send(type, body);
  }
}

void Links::close(std::uint32_t neighbour) {
  const auto link = links_.find(neighbour);
  if (link != links_.end()) link->second->close();
}

void Links::stop_listening() {
  if (listener_) listener_->stop();
}

void Links::finish() {
  if (connector_) connector_->stop();
  for (const auto& [neighbour, link] : links_) link->finish();
}

void Links::tell_heard(const std::function<void(std::uint32_t, double)>& heard) const {
  for (const auto& [neighbour, link] : links_) {
    if (link->is_open()) heard(neighbour, link->last_heard());
  }
}

std::string Links::parent_problem() const { return connector_ ? connector_->problem() : ""; }

void Links::adopt(std::uint32_t neighbour, const std::shared_ptr<Link>& link) {
  if (local_address_.empty()) local_address_ = link->local_address();
  links_[neighbour] = link;
  link->set_handlers([this, neighbour](const Frame& frame) { events_.frame(neighbour, frame); },
                     [this, neighbour](const std::string& why) { events_.down(neighbour, why); });
  events_.up(neighbour);
}

}  // namespace stage_model::launch
