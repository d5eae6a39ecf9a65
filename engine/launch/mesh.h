// The launchers of one job, as one of them sees them: its parent and its children in the tree,
// who is alive, and messages up, down and to one index. Belongs to the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/launch/auth.h"
#include "engine/launch/connector.h"
#include "engine/launch/link.h"
#include "engine/launch/listener.h"
#include "engine/launch/loop.h"
#include "engine/launch/tree.h"
#include "stage_model/config.h"
#include "stage_model/launch_order.h"

namespace stage_model::launch {

struct MeshEvents {
  std::function<void()> all_met;  // root only, once
  std::function<void(std::uint32_t neighbour)> linked;
  std::function<void(std::uint32_t neighbour, const Frame& frame)> message;
  std::function<void(std::uint32_t neighbour, const std::string& why)> lost;  // once each
  // In place of lost while the rendezvous waits: the neighbour may come again.
  std::function<void(std::uint32_t neighbour, const std::string& why)> left;
};

class Mesh {
 public:
  // All references outlive the mesh. may_return: a neighbour that is lost before stop_waiting() may
  // come again, as a container does that is restarted.
  Mesh(Loop& loop, Authenticator& authenticator, const Tree& tree, const Config& config,
       const LaunchOrder& request, bool may_return, MeshEvents events);

  Status start();
  void stop_waiting();    // from here on a neighbour that is lost is lost
  void stop_listening();  // latecomers are not let in any more
  void finish();          // says nothing more; waits for the neighbours to end too (is_finished)
  bool is_finished() const;

  void send_up(MessageType type, const std::string& body);  // kept until there is a parent
  void send_down(MessageType type, const std::string& body);
  void send_to(std::uint32_t neighbour, MessageType type, const std::string& body);
  // One step towards the index. The caller is not that index.
  void send_towards(std::uint32_t index, MessageType type, const std::string& body);

  bool has_parent() const;  // linked and not lost; false for the root
  bool has_all_children() const;
  std::vector<std::uint32_t> absent_children() const;
  bool is_complete() const { return met_.size() + 1 == tree_.size(); }  // root
  std::string local_address() const;  // "" as long as there is no neighbour

  // Who has not come, for a human: root and inner launchers name nodes, others say why they cannot
  // reach their parent.
  std::string missing_nodes() const;
  std::string parent_problem() const;

 private:
  void on_child(std::uint32_t child, const std::shared_ptr<Link>& link);
  void on_parent(const std::shared_ptr<Link>& link);
  void adopt(std::uint32_t neighbour, const std::shared_ptr<Link>& link);
  void on_met(std::uint32_t index);
  void on_left(std::uint32_t index);
  void let_return(std::uint32_t neighbour);
  void on_message(std::uint32_t neighbour, const Frame& frame);
  void on_lost(std::uint32_t neighbour, const std::string& why);
  void beat();

  Loop& loop_;
  const Tree& tree_;
  const Config& config_;
  const LaunchOrder& request_;
  MeshEvents events_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Connector> connector_;
  std::map<std::uint32_t, std::shared_ptr<Link>> links_;
  std::set<std::uint32_t> met_;  // every index below this one that has been authenticated
  std::vector<std::pair<MessageType, std::string>> waiting_up_;
  std::string local_address_;
  double last_beat_ = 0;
  bool waiting_ = false;  // a lost neighbour may come again
  bool finishing_ = false;
};

}  // namespace stage_model::launch
