#include "tests/simulation/ranks/network.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tests/simulation/base/runner.h"

namespace stage_model::simulation {
namespace {

constexpr std::uint32_t kFanOut = 16;  // engine/mpi/control.h
constexpr std::uint64_t kAudiences = std::uint64_t{1} << 32, kPairs = std::uint64_t{1} << 33;

}  // namespace

Network::Network(VirtualTime& time, const Scenario& scenario, Random random, OnMessage on_message,
                 OnBroadcast on_broadcast)
    : time_(time),
      scenario_(scenario),
      random_(random),
      on_message_(std::move(on_message)),
      on_broadcast_(std::move(on_broadcast)),
      everyone_(scenario.ranks),
      busy_(scenario.ranks),
      out_free_(scenario.ranks),
      in_free_(scenario.ranks) {
  std::iota(everyone_.begin(), everyone_.end(), 0);
}

void Network::send(std::uint32_t from, std::uint32_t to, std::string bytes) {
  ++messages_;
  const NetworkModel& model = scenario_.network;
  busy_[from] = std::max(busy_[from], time_.now()) + model.message_cost;
  Time when = busy_[from] + model.latency;
  if (model.jitter > 0) when += random_.between(0, model.jitter);
  Time& last = last_[{from, to}];
  last = std::max(last, when);
  time_.at(last, [this, from, to, bytes = std::move(bytes)] {
    busy_[to] = std::max(busy_[to], time_.now()) + scenario_.network.message_cost;
    if (busy_[to] == time_.now()) return on_message_(to, from, bytes);
    time_.at(busy_[to], [this, from, to, bytes] { on_message_(to, from, bytes); });
  });
}

void Network::forward(std::uint32_t rank, const std::string& bytes) {
  const std::uint64_t first = std::uint64_t{rank} * kFanOut + 1;
  for (std::uint64_t to = first; to < std::min<std::uint64_t>(first + kFanOut, scenario_.ranks);
       ++to)
    send(rank, static_cast<std::uint32_t>(to), bytes);
}

Network::Communicator& Network::communicator(std::uint64_t number, std::uint32_t root,
                                             std::uint32_t audience) {
  const auto& audiences = scenario_.assignment.audiences;
  const bool all = audience == plan::Assignment::kEveryone;
  const std::vector<std::uint32_t>& members = all ? everyone_ : audiences[audience];
  std::uint64_t key = number % static_cast<std::uint64_t>(scenario_.lanes);
  if (!all) key = kAudiences + audience;
  // Point to point: what one sends to another comes in order, whatever audience it is for.
  if (!all && members.size() == 2) {
    const std::uint32_t other = members[0] == root ? members[1] : members[0];
    key = kPairs + std::uint64_t{root} * scenario_.ranks + other;
  }
  Communicator& comm = communicators_[key];
  if (comm.members.empty()) {
    comm.members = members;
    comm.posts.resize(members.size());
  }
  return comm;
}

std::uint32_t Network::rank_at(const Communicator& comm, const Collective& one,
                               std::uint32_t place) const {
  return comm.members[(one.root + place) % comm.members.size()];
}

void Network::post(std::uint32_t rank, std::uint64_t number, std::uint32_t chunk,
                   std::uint32_t root, std::uint32_t audience) {
  Communicator& comm = communicator(number, root, audience);
  const auto index = [&](std::uint32_t of) {
    const auto at = std::lower_bound(comm.members.begin(), comm.members.end(), of);
    if (at == comm.members.end() || *at != of)
      violated("rank {} has no part in chunk {}'s broadcast", of, chunk);
    return static_cast<std::uint32_t>(at - comm.members.begin());
  };
  const std::uint32_t me = index(rank), at_root = index(root);
  const auto size = static_cast<std::uint32_t>(comm.members.size());
  const std::uint64_t n = comm.posts[me]++;
  while (comm.first + comm.open.size() <= n) {
    Collective& one = comm.open.emplace_back();
    one.chunk = chunk;
    one.root = at_root;
    one.length_of_chain = size;
    one.posted.resize(size);
    one.reachable.resize(size);
    one.ends.resize(size);
  }
  if (n < comm.first) violated("rank {} posts a broadcast that all have done", rank);
  Collective& one = comm.open[n - comm.first];
  if (one.chunk != chunk || one.root != at_root)
    violated("rank {} posts chunk {} of root {} where others post chunk {} of root {}", rank, chunk,
             root, one.chunk, comm.members[one.root]);
  const std::uint32_t place = (me + size - at_root) % size;
  one.posted[place] = 1;
  ++one.all_posted;
  if (scenario_.network.broadcast == Broadcast::kChain) {
    if (place == 0) one.reachable[0] = 1;
    if (one.reachable[place]) chain(comm, n, place);
  } else {
    together(comm, n, place);
  }
}

Time Network::bytes_take(std::uint32_t rank, std::uint64_t bytes) const {
  return from_seconds(static_cast<double>(bytes) / scenario_.network.rate[rank]);
}

// `place` begins to receive from the one before it (the root: begins). A link is given to
// broadcasts in the order in which their first bytes come, and works while it has any.
void Network::chain(Communicator& comm, std::uint64_t n, std::uint32_t place) {
  Collective& one = comm.open[n - comm.first];
  const std::uint64_t length = scenario_.layout.chunks[one.chunk].length;
  const std::uint32_t rank = rank_at(comm, one, place);
  const Time segment =
      bytes_take(rank, std::min(length, scenario_.network.segment)) + scenario_.network.hop;
  one.ends[place] = time_.now();
  if (place > 0) {
    const std::uint32_t before = rank_at(comm, one, place - 1);
    Time& out = out_free_[before];
    Time& in = in_free_[rank];
    out = std::max(out, time_.now()) + bytes_take(before, length);
    in = std::max(in, time_.now()) + bytes_take(rank, length);
    const Time upstream = place > 1 ? one.ends[place - 1] + segment : 0;
    one.ends[place] = std::max({out, in, upstream});
    done(comm, n, place - 1, one.ends[place]);
  }
  if (place + 1 == one.length_of_chain) return done(comm, n, place, one.ends[place]);
  time_.after(segment, [this, &comm, n, next = place + 1] {
    Collective& that = comm.open[n - comm.first];
    that.reachable[next] = 1;
    if (that.posted[next]) chain(comm, n, next);
  });
}

void Network::together(Communicator& comm, std::uint64_t n, std::uint32_t place) {
  Collective& one = comm.open[n - comm.first];
  const Time takes = scenario_.network.latency +
                     bytes_take(rank_at(comm, one, 0), scenario_.layout.chunks[one.chunk].length);
  const auto later = [&] {
    return scenario_.network.jitter > 0 ? random_.between(0, scenario_.network.jitter) : 0;
  };
  if (scenario_.network.broadcast == Broadcast::kSynchronizing) {
    if (one.all_posted < one.length_of_chain) return;
    for (std::uint32_t p = 0; p < one.length_of_chain; ++p)
      done(comm, n, p, time_.now() + takes + later());
    return;
  }
  if (place > 0 && !one.posted[0]) return;
  if (place > 0) return done(comm, n, place, time_.now() + takes + later());
  for (std::uint32_t p = 0; p < one.length_of_chain; ++p) {
    if (one.posted[p]) done(comm, n, p, time_.now() + (p > 0 ? takes : 0) + later());
  }
}

void Network::done(Communicator& comm, std::uint64_t n, std::uint32_t place, Time when) {
  time_.at(when, [this, &comm, n, place] {
    Collective& one = comm.open[n - comm.first];
    const std::uint32_t rank = rank_at(comm, one, place);
    const std::uint32_t chunk = one.chunk;
    ++one.all_done;
    while (!comm.open.empty() && comm.open.front().all_done == comm.open.front().length_of_chain) {
      comm.open.pop_front();
      ++comm.first;
    }
    on_broadcast_(rank, chunk);
  });
}

}  // namespace stage_model::simulation
