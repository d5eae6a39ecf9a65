#include "tests/simulation/launchers/cluster.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "engine/launch/wire.h"
#include "tests/simulation/launchers/engines.h"
#include "tests/simulation/launchers/rules.h"

namespace stage_model::simulation {

using launch::Coordinator;
using launch::Frame;
using launch::MessageType;
using What = Fault::What;
using ConnectionPtr = std::shared_ptr<Connection>;

namespace {

constexpr const char* kConnectionLost = "connection lost";
constexpr double kNever = std::numeric_limits<double>::infinity();

bool wanted(const Fault& fault, What what, std::uint32_t node) {
  return fault.what == what && fault.node == node;
}

}  // namespace

Cluster::Cluster(Seed& seed, const Scenario& scenario)
    : seed_(seed), scenario_(scenario), engines_(std::make_unique<Engines>(*this)) {
  for (std::uint32_t i = 0; i < scenario.nodes; ++i) {
    nodes_.push_back({fmt::format("n{}", i), ""});
    parents_.push_back(
        launch::Tree(scenario.nodes, i, scenario.setup.star_limit, scenario.setup.fan_out)
            .parent());
  }
}

Cluster::~Cluster() = default;

void Cluster::after(double seconds, std::function<void()> event) {
  time_.after(from_seconds(seconds), std::move(event));
}

double Cluster::latency() { return random().real(scenario_.least_latency, scenario_.most_latency); }

Ran Cluster::run() {
  for (const Fault& fault : scenario_.faults) {
    trace("planned: {}", describe(fault));
    const bool harmless =
        fault.what == What::kStrangers || fault.what == What::kTwice ||
        (fault.what == What::kNoUser && fault.seconds > 0 &&
         fault.seconds + 2 < scenario_.setup.engine.start_timeout_s) ||
        (fault.what == What::kPause && scenario_.faults.size() == 1 &&
         scenario_.is_short_pause(fault.seconds)) ||
        ((fault.what == What::kHang || fault.what == What::kCut || fault.what == What::kCutUp ||
          fault.what == What::kCutDown || fault.what == What::kPartition) &&
         scenario_.faults.size() == 1 && scenario_.is_short(fault.seconds));
    if (!harmless && !is_of_engine(fault)) interfered = true;
    if (fault.what == What::kEngineUnkillable) unkillable.insert(fault.node);
    if (!is_of_engine(fault) && fault.when == Fault::When::kAt)
      after(fault.at, [this, fault] { inject(fault); });
  }
  for (std::uint32_t node = 0; node < scenario_.nodes; ++node) {
    double late = random().real(0, 0.3);
    bool comes = true;
    for (const Fault& fault : scenario_.faults) {
      if (wanted(fault, What::kNever, node)) comes = false;
      if (wanted(fault, What::kLate, node)) late += fault.seconds;
    }
    if (comes) after(late, [this, node] { start_process(node); });
  }
  const double longest = longest_run(scenario_);
  while (time_.step()) {
    if (seconds() > longest) break;
  }
  check_end(*this);
  Ran ran;
  ran.events = time_.happened();
  ran.virtual_seconds = seconds();
  ran.ending = ending(*this);
  return ran;
}

void Cluster::inject_when(Fault::When when) {
  if (!happened_.insert(when).second) return;
  const double soon = when == Fault::When::kDone ? 0.01 + 2 * scenario_.most_latency : 0;
  for (const Fault& fault : scenario_.faults) {
    if (is_of_engine(fault) || fault.when != when) continue;
    after(random().real(0, soon + 2 * scenario_.most_latency), [this, fault] { inject(fault); });
  }
}

// --- Launchers.

void Cluster::start_process(std::uint32_t node) {
  for (const Process* other : of_node(node)) {
    if (other->off) return;
  }
  const bool second = !of_node(node).empty();
  Coordinator::Setup setup = scenario_.setup;
  setup.index = node;
  processes.push_back(std::make_unique<Process>());
  Process* process = processes.back().get();
  process->number = static_cast<std::uint32_t>(processes.size() - 1);
  process->node = node;
  process->second = second;
  process->machine = std::make_unique<Coordinator>(nodes_, setup);
  process->started_at = seconds();
  process->listening = true;
  trace("n{}: launcher {} starts", node, process->number);
  double user = random().chance(0.1) ? random().real(0, 1) : random().real(0, 0.02);
  bool place = true;
  for (const Fault& fault : scenario_.faults) {
    if (wanted(fault, What::kNoPlace, node)) place = false;
    if (wanted(fault, What::kNoUser, node)) user = fault.seconds > 0 ? fault.seconds : kNever;
  }
  process->machine->start(seconds());
  if (place) {
    process->machine->prepared(seconds());
  } else {
    process->machine->not_prepared(seconds(), {ExitCode::kDestination, "no place"});
  }
  if (std::isfinite(user)) {
    after(user, [this, process] {
      tell(process, [this, process] { process->machine->user_found(seconds()); });
    });
  }
  settle(process);
}

std::vector<Process*> Cluster::of_node(std::uint32_t node) const {
  std::vector<Process*> found;
  for (const auto& process : processes) {
    if (process->node == node) found.push_back(process.get());
  }
  return found;
}

void Cluster::tell(Process* process, std::function<void()> event) {
  if (!process->runs()) return;
  if (process->hung) {
    process->waiting.push_back(std::move(event));
    return;
  }
  event();
  settle(process);
}

void Cluster::settle(Process* process) {
  if (!process->runs()) return;
  for (;;) {
    const launch::Actions actions = process->machine->take_actions();
    if (actions.empty()) break;
    for (const launch::Action& action : actions) carry_out(process, action);
    if (process->ended) return;
  }
  if (process->machine->concluded() && process->concluded_at < 0) {
    process->concluded_at = seconds();
    trace("n{}: concludes: {}", process->node, text_of(process->machine->outcome()));
    check_conclusion(*this, *process, *engines_);
  }
  schedule_tick(process);
}

void Cluster::schedule_tick(Process* process) {
  const double next = process->machine->next_deadline();
  if (!std::isfinite(next) || next >= process->tick_at) return;
  process->tick_at = next;
  // Rounded up: a tick that comes too early finds nothing due.
  time_.at(from_seconds(next) + 1, [this, process, next] {
    if (process->tick_at != next) return;
    process->tick_at = kNever;
    if (!process->runs() || process->hung) return;  // then it is told the time when it goes on
    process->machine->tick(seconds());
    settle(process);
  });
}

void Cluster::carry_out(Process* process, const launch::Action& action) {
  if (const auto* line = std::get_if<launch::Log>(&action)) {
    trace("n{}: {}", process->node, line->text);
  } else if (const auto* frame = std::get_if<launch::Send>(&action)) {
    for (const std::uint32_t to : frame->to) send(process, to, {frame->type, frame->body});
  } else if (const auto* close = std::get_if<launch::CloseLink>(&action)) {
    const auto link = process->links.find(close->neighbour);
    if (link != process->links.end()) {
      close_side(link->second, link->second->ends[0] == process ? 0 : 1);
    }
  } else if (std::holds_alternative<launch::FindParent>(action)) {
    process->wants_parent = true;
    look_for_parent(process);
  } else if (std::holds_alternative<launch::StopListening>(action)) {
    process->listening = false;
  } else if (std::holds_alternative<launch::FinishLinks>(action)) {
    finish_links(process);
  } else if (const auto* start = std::get_if<launch::StartEngine>(&action)) {
    inject_when(Fault::When::kMet);
    engines_->start(process, start->run);
  } else if (const auto* end = std::get_if<launch::EndEngine>(&action)) {
    engines_->end(process, end->at_once);
  } else if (const auto* fence = std::get_if<launch::CompleteFence>(&action)) {
    engines_->complete_fence(process, fence->ticket, fence->data);
  } else if (const auto* modex = std::get_if<launch::CompleteModex>(&action)) {
    engines_->complete_modex(process, modex->ticket, modex->data);
  } else if (const auto* look_up = std::get_if<launch::LookUpPublished>(&action)) {
    engines_->look_up(process, look_up->ask);
  } else if (std::holds_alternative<launch::WriteRecord>(action)) {
    if (++process->records > 1) violated("n{}: a second record is written", process->node);
  } else {
    process->ended = true;
    process->ended_at = seconds();
    trace("n{}: launcher {} ends", process->node, process->number);
    if (engines_->runs(process) && unkillable.count(process->node) == 0) {
      violated("n{}: the launcher ends before its engine", process->node);
    }
    for (const auto& [neighbour, link] : process->links) {
      close_side(link, link->ends[0] == process ? 0 : 1);
    }
  }
}

// --- The network.

void Cluster::look_for_parent(Process* process) {
  if (process->looking) return;
  process->looking = true;
  after(latency(), [this, process] {
    process->looking = false;
    if (!process->runs() || !process->wants_parent) return;
    if (process->hung) {
      process->waiting.push_back([this, process] { look_for_parent(process); });
      return;
    }
    try_parent(process);
  });
}

void Cluster::try_parent(Process* process) {
  std::vector<Process*> parents;
  for (Process* parent : of_node(parent_of(process->node))) {
    if (parent->runs() && parent->listening && !parent->hung) parents.push_back(parent);
  }
  const bool reaches = !is_blocked(process->node, 0) && !is_blocked(process->node, 1);
  if (!parents.empty() && reaches) greet(process, random().one_of(parents));
  process->looking = true;
  after(random().real(0.05, 0.5), [this, process] {
    process->looking = false;
    look_for_parent(process);
  });
}

// Greeting and credentials; asked of both before and after them, as the listener does.
void Cluster::greet(Process* child, Process* parent) {
  if (!parent->machine->admits(child->node)) return;
  after(3 * latency(), [this, child, parent] {
    const bool both = parent->runs() && !parent->hung && parent->listening && child->runs() &&
                      !child->hung && child->wants_parent;
    const bool passes = !is_blocked(child->node, 0) && !is_blocked(child->node, 1);
    if (!both || !passes || !parent->machine->admits(child->node)) return;
    auto connection = std::make_shared<Connection>();
    connection->ends = {child, parent};
    connection->open = {true, true};
    connections.push_back(connection);
    parent->links[child->node] = connection;
    const bool parent_concluded = parent->machine->concluded();
    // The welcome comes before all that the parent says from here on.
    transmit(connection, 1, [this, connection, child, parent, parent_concluded] {
      if (!child->wants_parent || child->machine->concluded()) {
        close_side(connection, 0);
        return;
      }
      child->wants_parent = false;
      child->links[parent->node] = connection;
      // One that was stopped since it greeted hears all this too late.
      connection->faulty |= child->hung_long || parent->hung_long;
      connection->established = !parent_concluded || !child->machine->concluded();
      child->machine->link_up(seconds(), parent->node);
    });
    tell(parent, [this, parent, child] { parent->machine->link_up(seconds(), child->node); });
  });
}

bool Cluster::passes(std::uint32_t child, int from) const { return !is_blocked(child, from); }

// `arrive` happens at the other side, after all that was sent before.
void Cluster::transmit(const ConnectionPtr& connection, int from, std::function<void()> arrive) {
  const std::uint32_t child = connection->ends[0]->node;
  if (!passes(child, from)) {
    held_[{child, from}].push_back([this, connection, from, arrive = std::move(arrive)] {
      transmit(connection, from, arrive);
    });
    return;
  }
  double& busy_until = connection->busy_until[static_cast<std::size_t>(from)];
  busy_until = std::max(busy_until, seconds() + latency());
  Process* to = connection->ends[static_cast<std::size_t>(1 - from)];
  time_.at(from_seconds(busy_until) + 1, [this, to, from, connection, arrive = std::move(arrive)] {
    const std::uint32_t node = connection->ends[0]->node;
    if (!passes(node, from)) {  // it was on its way when the line was cut
      held_[{node, from}].push_back(
          [this, connection, from, arrive] { transmit(connection, from, arrive); });
      return;
    }
    tell(to, arrive);
  });
}

void Cluster::send(Process* from, std::uint32_t to, Frame frame) {
  const auto link = from->links.find(to);
  if (link == from->links.end()) return;
  const ConnectionPtr connection = link->second;
  const int side = connection->ends[0] == from ? 0 : 1;
  if (!connection->open[side] || connection->said_all[side]) return;
  const std::uint32_t sender = from->node;
  Process* receiver = connection->ends[1 - side];
  transmit(connection, side, [this, connection, side, sender, receiver, frame = std::move(frame)] {
    if (!connection->open[1 - side]) return;
    receiver->machine->received(seconds(), sender, frame);
  });
}

void Cluster::say_end(const ConnectionPtr& connection, int side) {
  if (connection->said_all[side]) return;
  connection->said_all[side] = true;
  transmit(connection, side, [this, connection, side] { on_end(connection, 1 - side); });
}

void Cluster::close_side(const ConnectionPtr& connection, int side) {
  say_end(connection, side);
  connection->open[side] = false;
}

// The side reads that the other has ended.
void Cluster::on_end(const ConnectionPtr& connection, int side) {
  if (!connection->open[side]) return;
  Process* process = connection->ends[side];
  close_side(connection, side);
  process->knows_trouble |= process->next_run > 0 && !process->machine->concluded();
  process->machine->link_down(seconds(), connection->ends[1 - side]->node, kConnectionLost);
}

void Cluster::finish_links(Process* process) {
  process->wants_parent = false;
  for (const auto& [neighbour, link] : process->links) {
    const int side = link->ends[0] == process ? 0 : 1;
    if (link->open[side]) say_end(link, side);
  }
}

// --- What goes wrong.

void Cluster::trouble() {
  if (trouble_at < 0) trouble_at = seconds();
}

void Cluster::inject(const Fault& fault) {
  trace("fault: {}", describe(fault));
  const std::vector<Process*> here = of_node(fault.node);
  Process* process = here.empty() ? nullptr : here.back();
  switch (fault.what) {
    case What::kKill:
      if (process != nullptr) kill(process, false);
      break;
    case What::kPowerOff:
      for (Process* each : here) kill(each, true);
      break;
    case What::kRestart:
      if (process != nullptr) kill(process, false);
      after(fault.seconds, [this, node = fault.node] { start_process(node); });
      break;
    case What::kPause:
      for (const auto& each : processes) {
        hang(each.get(), fault.seconds + random().real(0, 0.02),
             scenario_.is_short_pause(fault.seconds));
      }
      break;
    case What::kHang:
      if (process != nullptr) hang(process, fault.seconds, scenario_.is_short(fault.seconds));
      break;
    case What::kCut:
      cut({fault.node}, true, true, fault.seconds);
      break;
    case What::kCutUp:
      cut({fault.node}, true, false, fault.seconds);
      break;
    case What::kCutDown:
      cut({fault.node}, false, true, fault.seconds);
      break;
    case What::kPartition: {
      std::vector<std::uint32_t> children;
      for (std::uint32_t node = 1; node < scenario_.nodes; ++node) {
        if (random().chance(0.3)) children.push_back(node);
      }
      cut(children, true, true, fault.seconds);
      break;
    }
    case What::kReset:
      reset(fault.node);
      break;
    case What::kGarbage:
      if (process != nullptr) speak_garbage(process, 5);
      break;
    case What::kStrangers:
      if (process != nullptr) strangers(process);
      break;
    case What::kTwice:
      start_process(fault.node);
      break;
    case What::kCancel:
    case What::kCancelAll:
      trouble();
      for (const auto& each : processes) {
        if (fault.what == What::kCancel && each.get() != process) continue;
        Process* cancelled = each.get();
        tell(cancelled, [this, cancelled] {
          cancelled->knows_trouble |= !cancelled->machine->concluded();
          cancelled->machine->cancel(seconds());
        });
      }
      break;
    default:
      break;
  }
}

void Cluster::kill(Process* process, bool power_off) {
  if (!process->runs()) return;
  trouble();
  engines_->launcher_died(process, power_off);
  process->dead = true;
  process->off = power_off;
  // Also what it has not had the welcome of.
  for (const ConnectionPtr& link : connections) {
    const int side = link->ends[0] == process ? 0 : 1;
    if (link->ends[side] != process || !link->open[side]) continue;
    link->faulty = true;
    if (power_off) {
      link->open[side] = false;
    } else {
      close_side(link, side);
    }
  }
}

void Cluster::hang(Process* process, double seconds_long, bool is_short) {
  if (!process->runs() || process->hung) return;
  trouble();
  process->hung = true;
  process->hung_ever = true;
  if (!is_short || scenario_.faults.size() > 1) {
    process->hung_long = true;
    for (const auto& [neighbour, link] : process->links) link->faulty = true;
  }
  if (seconds_long > 0) after(seconds_long, [this, process] { go_on(process); });
}

void Cluster::go_on(Process* process) {
  if (!process->runs()) return;
  process->hung = false;
  std::deque<std::function<void()>> waiting;
  waiting.swap(process->waiting);
  // What is first, the sockets or the time, is chance.
  const bool time_first = random().chance(0.5);
  if (time_first) tell(process, [this, process] { process->machine->tick(seconds()); });
  for (const auto& event : waiting) tell(process, event);
  if (!time_first) tell(process, [this, process] { process->machine->tick(seconds()); });
}

void Cluster::cut(const std::vector<std::uint32_t>& children, bool up, bool down,
                  double seconds_long) {
  trouble();
  const bool is_short = scenario_.is_short(seconds_long) && scenario_.faults.size() == 1;
  for (const ConnectionPtr& connection : connections) {
    const bool meant = std::count(children.begin(), children.end(), connection->ends[0]->node) != 0;
    if (meant && !is_short) connection->faulty = true;
  }
  std::vector<std::pair<std::uint32_t, int>> lines;
  for (const std::uint32_t child : children) {
    if (up) lines.emplace_back(child, 0);
    if (down) lines.emplace_back(child, 1);
  }
  for (const auto& line : lines) ++blocked_[line];
  if (seconds_long <= 0) return;
  after(seconds_long, [this, lines] {
    for (const auto& line : lines) {
      if (--blocked_[line] > 0) continue;
      blocked_.erase(line);
      std::deque<std::function<void()>> held;
      held.swap(held_[line]);
      for (const auto& event : held) event();
    }
  });
}

void Cluster::reset(std::uint32_t child) {
  trouble();
  for (const ConnectionPtr& connection : connections) {
    if (connection->ends[0]->node != child || !connection->open[0] || !connection->open[1])
      continue;
    connection->faulty = true;
    for (const int side : {0, 1}) {
      connection->open[side] = false;
      connection->said_all[side] = true;
      Process* process = connection->ends[side];
      const std::uint32_t other = connection->ends[1 - side]->node;
      tell(process, [this, process, other] {
        process->knows_trouble |= process->next_run > 0 && !process->machine->concluded();
        process->machine->link_down(seconds(), other, kConnectionLost);
      });
    }
  }
}

void Cluster::speak_garbage(Process* process, int frames) {
  if (!process->runs() || frames == 0) return;
  trouble();
  process->speaks_garbage = true;
  for (const auto& [neighbour, link] : process->links) {
    link->faulty = true;
    Frame frame;
    frame.type = static_cast<MessageType>(random().between(1, launch::kLastMessageType));
    const auto number = static_cast<std::uint32_t>(random().below(scenario_.nodes + 2));
    switch (random().below(5)) {
      case 0:
        for (std::int64_t i = random().between(0, 40); i > 0; --i) {
          frame.body.push_back(static_cast<char>(random().below(256)));
        }
        break;
      case 1:
        frame.body = launch::encode_number(number);
        break;
      case 2:
        frame.body = encode(launch::FailureText{static_cast<std::uint32_t>(random().below(100)),
                                                static_cast<std::uint32_t>(random().below(12)),
                                                "nx", "made up"});
        break;
      case 3:
        frame.body = encode(launch::FenceData{{static_cast<std::uint32_t>(random().below(3)),
                                               static_cast<std::uint32_t>(random().below(3)),
                                               {}},
                                              "made up"});
        break;
      default:
        frame.body = encode(launch::Modex{static_cast<std::uint32_t>(random().below(3)), number,
                                          static_cast<std::uint32_t>(random().below(4)),
                                          random().below(3), 0, "made up"});
        break;
    }
    trace("n{} says to n{}: type {}, {} bytes", process->node, neighbour,
          static_cast<int>(frame.type), frame.body.size());
    send(process, neighbour, frame);
  }
  after(random().real(0.001, 0.2), [this, process, frames] { speak_garbage(process, frames - 1); });
}

// Whoever is not authenticated gets as far as the greeting and no further.
void Cluster::strangers(Process* process) {
  if (!process->runs()) return;
  for (int i = 0; i < 20; ++i) {
    launch::FrameReader reader;
    launch::Hello hello{"7", static_cast<std::uint32_t>(random().below(scenario_.nodes + 3)),
                        process->node, std::string(launch::kNonceSize, 'n')};
    std::string bytes = launch::encode_frame(MessageType::kHello, encode(hello));
    for (std::int64_t flips = random().between(0, 3); flips > 0; --flips) {
      bytes[random().below(bytes.size())] = static_cast<char>(random().below(256));
    }
    reader.append(bytes);
    Frame frame;
    if (reader.next(&frame) != launch::FrameReader::State::kFrame) continue;
    const auto read = launch::decode_hello(frame.body);
    if (read && process->machine->admits(read->child) && process->links.count(read->child) != 0 &&
        process->links[read->child]->open[1]) {
      violated("n{}: n{} may come a second time", process->node, read->child);
    }
  }
}

}  // namespace stage_model::simulation
