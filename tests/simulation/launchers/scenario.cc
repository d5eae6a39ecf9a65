#include "tests/simulation/launchers/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stage_model::simulation {
namespace {

using What = Fault::What;

constexpr std::array<const char*, 26> kNames = {"kill",
                                                "power off",
                                                "hang",
                                                "pause",
                                                "cut",
                                                "cut up",
                                                "cut down",
                                                "reset",
                                                "partition",
                                                "garbage",
                                                "strangers",
                                                "late",
                                                "never",
                                                "twice",
                                                "restart",
                                                "cancel",
                                                "cancel all",
                                                "no place",
                                                "no user",
                                                "engine fails",
                                                "engine exits",
                                                "engine killed",
                                                "engine aborts",
                                                "engine silent",
                                                "engine without finalize",
                                                "engine not staged"};
constexpr std::array<const char*, 2> kMoreNames = {"engine cannot start", "engine unkillable"};

std::uint32_t draw_nodes(Random& random) {
  const double kind = random.fraction();
  if (kind < 0.72) return static_cast<std::uint32_t>(random.between(1, 8));
  if (kind < 0.96) return static_cast<std::uint32_t>(random.between(9, 40));
  if (kind < 0.999) return static_cast<std::uint32_t>(random.between(64, 200));
  return static_cast<std::uint32_t>(random.between(1000, 4096));
}

Fault draw_fault(Random& random, const Scenario& scenario) {
  static const std::vector<What> kinds = {What::kKill,
                                          What::kKill,
                                          What::kPowerOff,
                                          What::kPowerOff,
                                          What::kPause,
                                          What::kHang,
                                          What::kHang,
                                          What::kHang,
                                          What::kCut,
                                          What::kCut,
                                          What::kCutUp,
                                          What::kCutDown,
                                          What::kReset,
                                          What::kReset,
                                          What::kPartition,
                                          What::kGarbage,
                                          What::kStrangers,
                                          What::kLate,
                                          What::kLate,
                                          What::kNever,
                                          What::kTwice,
                                          What::kRestart,
                                          What::kCancel,
                                          What::kCancelAll,
                                          What::kNoPlace,
                                          What::kNoUser,
                                          What::kEngineFails,
                                          What::kEngineFails,
                                          What::kEngineExits,
                                          What::kEngineKilled,
                                          What::kEngineAborts,
                                          What::kEngineSilent,
                                          What::kEngineNoFinalize,
                                          What::kEngineNotStaged,
                                          What::kEngineCannotStart,
                                          What::kEngineUnkillable};
  const double heartbeat = scenario.setup.heartbeat_timeout_s;
  Fault fault;
  fault.what = random.one_of(kinds);
  fault.node = static_cast<std::uint32_t>(random.below(scenario.nodes));
  // Often early, when they meet, and often late, when the outcome is agreed on.
  const double whole = scenario.setup.runs * (scenario.work_s + 0.5) + 1;
  fault.at = random.chance(0.3) ? random.real(0, 0.5) : random.real(0, whole);
  fault.run = static_cast<std::uint32_t>(random.below(scenario.setup.runs));
  fault.code = static_cast<int>(random.between(2, 8));
  const double when = random.fraction();
  fault.when = when < 0.2 ? Fault::When::kMet : when < 0.35 ? Fault::When::kDone : Fault::When::kAt;
  switch (fault.what) {
    case What::kHang:
    case What::kCut:
    case What::kCutUp:
    case What::kCutDown:
    case What::kPartition:
      if (random.chance(0.6)) fault.seconds = random.real(0.05, 3 * heartbeat);
      break;
    case What::kPause:
      fault.seconds = random.real(0.05, 2 * heartbeat);
      break;
    case What::kLate:
    case What::kRestart:
      fault.seconds = random.real(0.01, 1.3 * scenario.setup.rendezvous_timeout_s);
      if (fault.what == What::kRestart) fault.seconds /= 5;
      break;
    case What::kNoUser:
      if (random.chance(0.5))
        fault.seconds = random.real(0.1, scenario.setup.engine.start_timeout_s);
      break;
    default:
      break;
  }
  return fault;
}

}  // namespace

std::string describe(const Fault& fault) {
  const auto number = static_cast<std::size_t>(fault.what);
  const char* name =
      number < kNames.size() ? kNames.at(number) : kMoreNames.at(number - kNames.size());
  const std::string when = fault.when == Fault::When::kMet ? "once they have met"
                           : fault.when == Fault::When::kDone
                               ? "at the end"
                               : fmt::format("at {:.3f} s", fault.at);
  return fmt::format("{} n{} {} for {:.3f} s, run {}, code {}", name, fault.node, when,
                     fault.seconds, fault.run, fault.code);
}

bool is_of_engine(const Fault& fault) { return fault.what >= What::kEngineFails; }

double Scenario::period() const { return std::clamp(setup.heartbeat_timeout_s / 5, 0.05, 1.0); }

std::uint32_t Scenario::depth() const {
  const launch::Tree last(nodes, nodes - 1, setup.star_limit, setup.fan_out);
  std::uint32_t most = 0;
  for (std::uint32_t index = 0; index < nodes; index += std::max(1U, nodes / 64)) {
    most = std::max(most, static_cast<std::uint32_t>(last.ancestors(index).size()));
  }
  return std::max(most, static_cast<std::uint32_t>(last.ancestors(nodes - 1).size())) + 1;
}

bool Scenario::is_short(double seconds) const {
  // Two seconds: to come and meet in what the rendezvous then has left.
  return seconds > 0 && seconds + 2 * period() + 4 * most_latency < setup.heartbeat_timeout_s &&
         seconds + 2 < setup.rendezvous_timeout_s;
}

bool Scenario::is_short_pause(double seconds) const {
  const auto& engine = setup.engine;
  return seconds + 2 <
         std::min({setup.rendezvous_timeout_s, engine.start_timeout_s, engine.stall_timeout_s});
}

Scenario draw(Random& random, std::uint32_t nodes) {
  Scenario scenario;
  scenario.nodes = nodes > 0 ? nodes : draw_nodes(random);
  auto& setup = scenario.setup;
  setup.runs = static_cast<std::uint32_t>(random.chance(0.6) ? 1 : random.between(2, 3));
  setup.may_return = random.chance(0.4);
  setup.heartbeat_timeout_s = random.real(0.5, 6);
  setup.rendezvous_timeout_s = random.real(3, 15);
  // As any sensible site has it: a lost node is noticed before an engine that waits for it in
  // MPI_Init has had its time.
  setup.engine.start_timeout_s =
      std::max(random.real(6, 12), setup.heartbeat_timeout_s + 2 * scenario.period() + 1);
  setup.engine.stall_timeout_s = random.real(2, 8);
  setup.engine.kill_wait_s = random.real(0.1, 2);
  setup.deadline_s = random.real(40, 80);
  scenario.endless = random.chance(0.04);
  if (scenario.endless) setup.deadline_s = random.real(2, 20);
  if (scenario.nodes < 1000 && random.chance(0.6)) {  // a tree of few nodes
    setup.star_limit = 1;
    setup.fan_out = static_cast<std::uint32_t>(random.between(1, 4));
    if (scenario.nodes > 40) setup.fan_out += 2;
  }
  scenario.least_latency = random.real(0.00002, 0.0005);
  scenario.most_latency = scenario.least_latency * random.real(1, 20);
  scenario.work_s = random.real(0.05, 3);
  scenario.sub_fence = scenario.nodes > 1 && random.chance(0.3);
  scenario.modex = random.chance(0.3);
  scenario.early_modex = random.chance(0.15);
  const double kind = random.fraction();
  const int faults = kind < 0.08 ? 0 : kind < 0.5 ? 1 : static_cast<int>(random.between(2, 4));
  for (int i = 0; i < faults; ++i) scenario.faults.push_back(draw_fault(random, scenario));
  return scenario;
}

}  // namespace stage_model::simulation
