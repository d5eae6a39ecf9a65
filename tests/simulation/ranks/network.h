// The virtual fabric: small messages, in order between two ranks, and broadcasts as strict as
// MPI's. The n-th post of each member of a communicator belongs to the communicator's n-th
// broadcast: if chunk, root or length differ the run has failed. Where few buffers would make real
// ranks wait for each other for ever, these do.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "tests/simulation/base/random.h"
#include "tests/simulation/base/virtual_time.h"
#include "tests/simulation/ranks/scenario.h"

namespace stage_model::simulation {

class Network {
 public:
  using OnMessage = std::function<void(std::uint32_t to, std::uint32_t from, const std::string&)>;
  using OnBroadcast = std::function<void(std::uint32_t rank, std::uint32_t chunk)>;

  Network(VirtualTime& time, const Scenario& scenario, Random random, OnMessage on_message,
          OnBroadcast on_broadcast);

  void send(std::uint32_t from, std::uint32_t to, std::string bytes);
  // Down the tree: what `rank` forwards of a message that rank 0 sends to all.
  void forward(std::uint32_t rank, const std::string& bytes);
  // Throws Violation where the members of the communicator do not agree.
  void post(std::uint32_t rank, std::uint64_t number, std::uint32_t chunk, std::uint32_t root,
            std::uint32_t audience);

  std::uint64_t messages() const { return messages_; }

 private:
  struct Collective {
    std::uint32_t chunk = 0, root = 0;
    std::vector<char> posted, reachable;  // by place in the chain, which begins at the root
    std::vector<Time> ends;
    std::uint32_t all_posted = 0, all_done = 0, length_of_chain = 0;
  };
  struct Communicator {
    std::vector<std::uint32_t> members;  // ascending
    std::vector<std::uint64_t> posts;    // of each member, so far
    std::deque<Collective> open;
    std::uint64_t first = 0;  // number of open.front()
  };

  Communicator& communicator(std::uint64_t number, std::uint32_t root, std::uint32_t audience);
  std::uint32_t rank_at(const Communicator& comm, const Collective& one, std::uint32_t place) const;
  void chain(Communicator& comm, std::uint64_t n, std::uint32_t place);
  void together(Communicator& comm, std::uint64_t n, std::uint32_t place);
  void done(Communicator& comm, std::uint64_t n, std::uint32_t place, Time when);
  Time bytes_take(std::uint32_t rank, std::uint64_t bytes) const;

  VirtualTime& time_;
  const Scenario& scenario_;
  Random random_;
  OnMessage on_message_;
  OnBroadcast on_broadcast_;
  std::vector<std::uint32_t> everyone_;
  std::map<std::uint64_t, Communicator> communicators_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Time> last_;  // of messages between two
  std::vector<Time> busy_;                                        // rank → its time for messages
  std::vector<Time> out_free_, in_free_;                          // rank → its link
  std::uint64_t messages_ = 0;
};

}  // namespace stage_model::simulation
