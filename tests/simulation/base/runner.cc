#include "tests/simulation/base/runner.h"

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

namespace stage_model::simulation {
namespace {

constexpr unsigned kLongestSeed = 120;  // seconds of real time

// For the signal handler.
volatile std::sig_atomic_t failing = 0;
char current[128];

void crashed(int signal) {
  if (failing != 0) _exit(1);
  failing = 1;
  const char* why = signal == SIGALRM ? ": an endless loop\n" : ": a crash\n";
  (void)!write(STDERR_FILENO, current, std::strlen(current));
  (void)!write(STDERR_FILENO, why, std::strlen(why));
  if (signal == SIGALRM) _exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

struct Options {
  std::optional<std::uint64_t> seeds, seed;
  std::uint64_t nodes = 0;
};

bool parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; i += 2) {
    std::uint64_t value = 0;
    if (i + 1 == argc) return false;
    const char* end = argv[i + 1] + std::strlen(argv[i + 1]);
    const auto parsed = std::from_chars(argv[i + 1], end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end) return false;
    const std::string_view name = argv[i];
    if (name == "--seeds") {
      options->seeds = value;
    } else if (name == "--seed") {
      options->seed = value;
    } else if (name == "--nodes" && value >= 1 && value <= 4096) {
      options->nodes = value;
    } else {
      return false;
    }
  }
  return true;
}

struct Outcome {
  Ran ran;
  std::optional<std::string> violation;
  Trace trace;
};

Outcome run_one(const char* name, const Options& options, std::uint64_t number, Trace::Mode mode,
                const Simulation& simulation) {
  const auto text = fmt::format("{}: seed {} FAILED", name, number);
  std::strncpy(current, text.c_str(), sizeof current - 1);
  alarm(kLongestSeed);
  Seed seed{number, static_cast<std::uint32_t>(options.nodes), Random(number), Trace(mode)};
  Outcome outcome;
  try {
    outcome.ran = simulation(seed);
  } catch (const std::exception& error) {
    outcome.violation = error.what();
  }
  alarm(0);
  outcome.trace = std::move(seed.trace);
  return outcome;
}

void tell(const char* name, const Options& options, std::uint64_t number,
          const std::string& violation) {
  fmt::print(stderr, "{}: seed {} FAILED: {}\n", name, number, violation);
  fmt::print(stderr, "again, with its whole trace: tests/simulate --only {} --seed {}{}\n", name,
             number, options.nodes > 0 ? fmt::format(" --nodes {}", options.nodes) : "");
}

}  // namespace

int run(const char* name, int argc, char** argv, const Simulation& simulation) {
  Options options;
  if (!parse(argc, argv, &options)) {
    fmt::print(stderr, "usage: {} [--seeds N] [--seed S] [--nodes N]\n", argv[0]);
    return 2;
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL, SIGALRM}) {
    std::signal(signal, crashed);
  }
  if (options.seed && !options.seeds) {
    const Outcome outcome = run_one(name, options, *options.seed, Trace::Mode::kWhole, simulation);
    std::fflush(stdout);
    if (outcome.violation) {
      fmt::print(stderr, "{}: seed {} FAILED: {}\n", name, *options.seed, *outcome.violation);
      return 1;
    }
    fmt::print("{}: seed {}: no violation: {}\n", name, *options.seed, outcome.ran.ending);
    return 0;
  }
  const std::uint64_t first = options.seed.value_or(1);
  const std::uint64_t seeds = options.seeds.value_or(1000);
  const auto begin = std::chrono::steady_clock::now();
  Ran sum;
  std::map<std::string, std::uint64_t> endings;
  for (std::uint64_t number = first; number < first + seeds; ++number) {
    const Outcome outcome = run_one(name, options, number, Trace::Mode::kOff, simulation);
    if (outcome.violation) {
      const Outcome again = run_one(name, options, number, Trace::Mode::kRing, simulation);
      again.trace.print(stderr);
      tell(name, options, number, *outcome.violation);
      if (again.violation != outcome.violation)
        fmt::print(stderr, "and the same seed ran differently the second time\n");
      fmt::print(stderr, "{} seeds before it without a violation\n", number - first);
      return 1;
    }
    sum.events += outcome.ran.events;
    sum.virtual_seconds += outcome.ran.virtual_seconds;
    ++endings[outcome.ran.ending];
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  fmt::print("{}: {} seeds from {}, no violation: {} events, {:.0f} virtual s, in {:.1f} s\n", name,
             seeds, first, sum.events, sum.virtual_seconds, took.count());
  for (const auto& [ending, count] : endings) fmt::print("  {:>8} {}\n", count, ending);
  return 0;
}

}  // namespace stage_model::simulation
