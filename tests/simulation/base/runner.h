// Runs a simulation for many seeds: the command line, the count, and what is printed for a seed
// that fails. Used by main() of each simulator.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/simulation/base/random.h"
#include "tests/simulation/base/trace.h"

namespace stage_model::simulation {

// A rule was broken: ends the run of this seed. Thrown by the simulator only; it never passes
// through code that is being tested, since that calls nothing of the simulator's.
class Violation : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void violated(fmt::format_string<Args...> format, Args&&... args) {
  throw Violation(fmt::format(format, std::forward<Args>(args)...));
}

// What one seed's run is given.
struct Seed {
  std::uint64_t number = 0;
  std::uint32_t nodes = 0;  // 0: the run chooses
  Random random;            // seeded with `number`
  Trace trace;
};

// What it tells in the end, summed over the seeds in the last line.
struct Ran {
  std::uint64_t events = 0;
  double virtual_seconds = 0;
  std::string ending;  // a class of endings ("staged", "stopped: disk"), counted
};

// One run; throws Violation. Any other exception is a violation too.
using Simulation = std::function<Ran(Seed&)>;

// The whole of a simulator's main():
//   --seeds N   run N seeds (default 1,000), from 1 or from --seed S
//   --seed S    without --seeds: run this one and print its whole trace
//   --nodes N   that many nodes in every run
// Returns the exit code: 0 no violation, 1 a violation (the first one ends the run: its seed, what
// was violated, and the last lines of its trace), 2 usage. A crash or an endless loop inside the
// code being tested prints the seed, too.
int run(const char* name, int argc, char** argv, const Simulation& simulation);

}  // namespace stage_model::simulation
