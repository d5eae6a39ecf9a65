// The side of the rendezvous that goes and looks for its parent, again and again, until stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/launch/link.h"
#include "engine/launch/loop.h"
#include "engine/launch/node_addresses.h"
#include "engine/launch/peer_auth.h"
#include "engine/launch/tree.h"
#include "stage_model/config.h"
#include "stage_model/launch_order.h"

namespace stage_model::launch {

class Connector {
 public:
  using OnLinked = std::function<void(std::shared_ptr<Link> link)>;

  // All references outlive the connector, which lives as long as the loop runs.
  Connector(Loop& loop, Authenticator& authenticator, const Tree& tree, const Config& config,
            std::string job, Node parent, OnLinked on_linked);
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  void start();  // also again, after a link that was lost
  void stop();

  // Why it has not worked so far, for a human: names the addresses and ports tried.
  std::string problem() const;

 private:
  void resolve();
  void on_resolved(const Result<std::vector<Address>>& addresses);
  void begin_round();
  void try_next();
  // What a failed attempt tells. The most telling one so far is what problem() names: a parent that
  // refuses the credential says more than the ports after it that refuse the connection.
  enum class Tells { kNothing, kRefused, kStranger, kTimedOut, kCredential };
  void next_after_failure(Tells tells, const std::string& problem);
  void on_connected();
  void on_frame(const Frame& frame);
  void on_challenge(const Frame& frame);
  void on_welcome(const Frame& frame);
  void drop_attempt();

  Loop& loop_;
  Authenticator& authenticator_;
  const Tree& tree_;
  const Config& config_;
  std::string job_;
  Node parent_;
  OnLinked on_linked_;
  bool stopped_ = false;
  std::vector<Address> addresses_;
  bool resolving_ = false;
  double asked_at_ = 0;  // when the resolver was last asked
  std::vector<std::uint16_t> ports_;
  int round_ = 0;
  std::size_t attempt_ = 0;  // within the round: port major, address minor
  int fd_ = -1;              // while connecting
  std::shared_ptr<Link> link_;
  Claim claim_;
  std::string own_share_;
  Loop::TimerId timer_ = 0;
  std::string problem_;
  Tells tells_ = Tells::kNothing;
};

}  // namespace stage_model::launch
