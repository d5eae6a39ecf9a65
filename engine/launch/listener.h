// The side of the rendezvous that waits: index 0, and in a tree every launcher with children.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "engine/launch/auth.h"
#include "engine/launch/link.h"
#include "engine/launch/loop.h"
#include "engine/launch/tree.h"
#include "stage_model/config.h"
#include "stage_model/result.h"

namespace stage_model::launch {

class Listener {
 public:
  using OnLinked = std::function<void(std::uint32_t child, std::shared_ptr<Link> link)>;

  // All references outlive the listener.
  Listener(Loop& loop, Authenticator& authenticator, const Tree& tree, std::string job,
           OnLinked on_linked);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Binds the first free port of the job's sequence. Errors: kFabric.
  Status start(const PortRange& range);
  void stop();  // no more connections; those in the middle of their greeting are dropped
  void let_return(std::uint32_t child);  // its link is gone: it may come again

  // Why the last attempt to be this child was refused; "" if there was none.
  std::string problem_of(std::uint32_t child) const;

 private:
  struct Greeting {
    std::shared_ptr<Link> link;
    Claim claim;
    bool hello_seen = false;
    Loop::TimerId timer = 0;
  };
  using Place = std::list<Greeting>::iterator;

  void on_connection();
  void on_frame(Place place, const Frame& frame);
  void on_hello(Place place, const Frame& frame);
  void on_proof(Place place, const Frame& frame);
  void drop(Place place);

  Loop& loop_;
  Authenticator& authenticator_;
  const Tree& tree_;
  std::string job_;
  OnLinked on_linked_;
  int fd_ = -1;
  std::list<Greeting> greetings_;  // oldest first
  std::set<std::uint32_t> linked_;
  std::map<std::uint32_t, std::string> problems_;
};

}  // namespace stage_model::launch
