// The launchers of one job in one process: each is the real Coordinator, with a virtual driver in
// place of sockets, PMIx, the engine's process and files. Time, network and engines are virtual.
//
// What the network promises is what TCP does: frames come in order or not at all, what is held up
// comes later, and a connection that one side closes tells the other unless nothing passes.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/launch/coordinator.h"
#include "tests/simulation/base/runner.h"
#include "tests/simulation/base/virtual_time.h"
#include "tests/simulation/launchers/scenario.h"

namespace stage_model::simulation {

class Engines;

struct Connection;

// One stage-launch. A node has another one when the first is started again, or twice.
struct Process {
  std::uint32_t number = 0;  // in Cluster::processes
  std::uint32_t node = 0;
  std::unique_ptr<launch::Coordinator> machine;
  double started_at = 0;
  double tick_at = std::numeric_limits<double>::infinity();
  bool dead = false;       // killed, or its node is off
  bool off = false;        // … its node
  bool ended = false;      // by itself
  bool hung = false;       // stopped; `waiting` is what it will find
  bool hung_long = false;  // so long that others may take it for lost
  bool hung_ever = false;
  bool knows_trouble = false;  // was told of something, with its engines started
  bool second = false;         // another has been started for its node
  bool speaks_garbage = false;
  std::deque<std::function<void()>> waiting;
  bool wants_parent = false;
  bool looking = false;  // an attempt is under way
  bool listening = false;
  std::map<std::uint32_t, std::shared_ptr<Connection>> links;  // by neighbour
  int records = 0;
  double concluded_at = -1;
  double ended_at = -1;
  int next_run = 0;

  bool runs() const { return !dead && !ended; }
};

// Between a child and its parent. Side 0 is the child's.
struct Connection {
  std::array<Process*, 2> ends{};
  std::array<bool, 2> open{};          // the side still reads
  std::array<bool, 2> said_all{};      // the side has sent its end
  std::array<double, 2> busy_until{};  // a later frame does not overtake
  bool established = false;            // both sides knew of it, and neither had concluded
  bool faulty = false;                 // something was done to it
};

class Cluster {
 public:
  Cluster(Seed& seed, const Scenario& scenario);
  ~Cluster();
  Ran run();

  const Scenario& scenario() const { return scenario_; }
  double seconds() const { return time_.seconds(); }
  void after(double seconds, std::function<void()> event);
  Random& random() { return seed_.random; }
  template <class... Args>
  void trace(fmt::format_string<Args...> format, Args&&... args) {
    seed_.trace.add(time_.now(), format, std::forward<Args>(args)...);
  }
  bool tracing() const { return seed_.trace.on(); }

  void inject_when(Fault::When when);  // the first time that it is so

  // An event for a launcher: now, or once it goes on; not at all if it is gone.
  void tell(Process* process, std::function<void()> event);

  std::vector<std::unique_ptr<Process>> processes;  // in the order in which they were started
  std::vector<std::shared_ptr<Connection>> connections;
  std::set<std::uint32_t> unkillable;  // nodes whose engine does not end
  double first_start = -1;             // of an engine
  bool interfered = false;             // something that is not harmless has happened
  double trouble_at = -1;              // … when first

 private:
  void start_process(std::uint32_t node);
  void inject(const Fault& fault);
  void settle(Process* process);
  void carry_out(Process* process, const launch::Action& action);
  void schedule_tick(Process* process);
  void look_for_parent(Process* process);
  void try_parent(Process* process);
  void greet(Process* child, Process* parent);
  void transmit(const std::shared_ptr<Connection>& connection, int from,
                std::function<void()> arrive);
  void send(Process* from, std::uint32_t to, launch::Frame frame);
  void say_end(const std::shared_ptr<Connection>& connection, int side);
  void close_side(const std::shared_ptr<Connection>& connection, int side);
  void on_end(const std::shared_ptr<Connection>& connection, int side);
  void finish_links(Process* process);
  void kill(Process* process, bool power_off);
  void hang(Process* process, double seconds, bool is_short);
  void go_on(Process* process);
  void cut(const std::vector<std::uint32_t>& children, bool up, bool down, double seconds);
  void reset(std::uint32_t child);
  void speak_garbage(Process* process, int frames);
  void strangers(Process* process);
  void trouble();
  bool passes(std::uint32_t child, int from) const;
  bool is_blocked(std::uint32_t child, int from) const {
    return blocked_.count({child, from}) != 0;
  }
  std::vector<Process*> of_node(std::uint32_t node) const;
  double latency();
  std::uint32_t parent_of(std::uint32_t node) const { return parents_[node]; }

  Seed& seed_;
  std::set<Fault::When> happened_;
  Scenario scenario_;
  VirtualTime time_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> parents_;
  std::unique_ptr<Engines> engines_;
  std::map<std::pair<std::uint32_t, int>, int> blocked_;  // (child, from side) → how often
  // What was sent while nothing passes: comes once it does.
  std::map<std::pair<std::uint32_t, int>, std::deque<std::function<void()>>> held_;
};

}  // namespace stage_model::simulation
