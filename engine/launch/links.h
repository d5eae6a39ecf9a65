// The connections to the neighbours in the tree: listens for the children, looks for the parent,
// and carries frames. Decides nothing: whom to let in, who is lost and when to end are asked of, or
// told by, the coordinator. Belongs to the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/launch/connector.h"
#include "engine/launch/link.h"
#include "engine/launch/listener.h"
#include "engine/launch/loop.h"
#include "engine/launch/peer_auth.h"
#include "engine/launch/tree.h"
#include "stage_model/config.h"
#include "stage_model/launch_order.h"

namespace stage_model::launch {

struct LinkEvents {
  std::function<bool(std::uint32_t child)> admits;
  std::function<void(std::uint32_t child, const std::string& why)> refused;
  std::function<void(std::uint32_t neighbour)> up;
  std::function<void(std::uint32_t neighbour, const Frame& frame)> frame;
  // Not after close().
  std::function<void(std::uint32_t neighbour, const std::string& why)> down;
};

class Links {
 public:
  // All references outlive it.
  Links(Loop& loop, Authenticator& authenticator, const Tree& tree, const Config& config,
        const LaunchOrder& request, LinkEvents events);

  Status listen();  // where there are children. Errors: kFabric
  void find_parent();
  void send(const std::vector<std::uint32_t>& to, MessageType type, const std::string& body);
  void close(std::uint32_t neighbour);
  void stop_listening();
  void
  finish();  // ends each link once everything is sent; `down` tells when the other side has, too

  // Calls heard(neighbour, when) with the time of the last bytes of each link that is up.
  void tell_heard(const std::function<void(std::uint32_t, double)>& heard) const;
  std::string parent_problem() const;  // why the parent was not reached so far
  std::string local_address() const { return local_address_; }  // "" before the first link

 private:
  void adopt(std::uint32_t neighbour, const std::shared_ptr<Link>& link);

  LinkEvents events_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Connector> connector_;
  std::map<std::uint32_t, std::shared_ptr<Link>> links_;
  std::string local_address_;
  const Config& config_;
};

}  // namespace stage_model::launch
