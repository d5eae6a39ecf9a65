// The side of the rendezvous that waits: index 0, and in a tree every launcher with children.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "engine/launch/link.h"
#include "engine/launch/loop.h"
#include "engine/launch/peer_auth.h"
#include "engine/launch/tree.h"
#include "stage_model/config.h"
#include "stage_model/result.h"

namespace stage_model::launch {

struct ListenerEvents {
  std::function<bool(std::uint32_t child)> admits;  // asked before the greeting and after it
  std::function<void(std::uint32_t child, const std::shared_ptr<Link>& link)> linked;
  std::function<void(std::uint32_t child, const std::string& why)> refused;
};

class Listener {
 public:
  // All references outlive the listener.
  Listener(Loop& loop, Authenticator& authenticator, const Tree& tree, std::string job,
           ListenerEvents events);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Binds the first free port of the job's sequence. Errors: kFabric.
  Status start(const PortRange& range);
  void stop();  // no more connections; those in the middle of their greeting are dropped

 private:
  struct Greeting {
    std::shared_ptr<Link> link;
    Claim claim;
    bool hello_seen = false;
    Loop::TimerId timer = 0;
  };
  using GreetingRef = std::list<Greeting>::iterator;

  void on_connection();
  void on_frame(GreetingRef greeting, const Frame& frame);
  void on_hello(GreetingRef greeting, const Frame& frame);
  void on_credential(GreetingRef greeting, const Frame& frame);
  void drop(GreetingRef greeting);

  Loop& loop_;
  Authenticator& authenticator_;
  const Tree& tree_;
  std::string job_;
  ListenerEvents events_;
  int fd_ = -1;
  std::list<Greeting> greetings_;  // oldest first
};

}  // namespace stage_model::launch
