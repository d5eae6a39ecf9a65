// stage-launch: see docs/architecture.md. Read launcher.h next.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "engine/launch/assemble.h"
#include "engine/launch/check.h"
#include "engine/launch/engine_environment.h"
#include "engine/launch/launcher.h"
#include "engine/launch/options.h"

namespace {

using stage_model::Config;
using stage_model::Error;
using stage_model::ExitCode;
using stage_model::LaunchOrder;
using stage_model::Result;

// Slurm's prolog comes with descriptor 0 closed: the first socket would become stdin.
void open_standard_descriptors() {
  int fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = dup(fd);
  if (fd > STDERR_FILENO) close(fd);
}

// The request's credentials are in this process' memory.
void hide_memory() {
  prctl(PR_SET_DUMPABLE, 0);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

// Before any thread starts: all of them must leave the signals to the loop.
void block_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

void say(const std::string& line) {
  const std::string text = "stage-launch: " + line + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

int refuse(const Error& error) {
  if (error.message.empty()) return static_cast<int>(error.code);
  say(error.message);
  return static_cast<int>(error.code);
}

int run(const stage_model::launch::Options& options) {
  using namespace stage_model::launch;  // NOLINT(google-build-using-namespace): one function
  const Result<Config> config = assemble_config(options);
  if (!config) return refuse(config.error());
  const Result<LaunchOrder> order = assemble_order(options);
  if (!order) return refuse(order.error());
  LaunchOptions launch;
  launch.engine = options.engine.empty() ? config->engine : options.engine;
  launch.by_hand = options.request.empty();
  launch.verbose = options.verbose;
  if (launch.by_hand) {
    launch.inherited = inheritable(environ);
  } else {
    // Slurm's spool directory, where a prolog may begin, is not the user's to be in.
    if (chdir("/") != 0) return refuse({ExitCode::kStopped, "cannot change to /"});
    // The plugin waits for this process; if it is killed, nobody wants the outcome.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
  }
  if (options.star_limit > 0) launch.star_limit = options.star_limit;
  if (options.fan_out > 0) launch.fan_out = options.fan_out;
  Outcome outcome;
  {
    Launcher launcher(*order, *config, launch);
    outcome = launcher.run();
  }
  if (!outcome.staged) {
    say(outcome.node.empty() ? outcome.reason : outcome.node + ": " + outcome.reason);
  }
  return static_cast<int>(outcome.staged ? ExitCode::kStaged : outcome.code);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  hide_memory();
  block_signals();
  // libpmix crashes without HOME where the uid has no passwd entry, and the prolog has no HOME.
  setenv("HOME", "/", 0);
  setenv("PMIX_MCA_gds", "hash", 1);
  const Result<stage_model::launch::Options> options =
      stage_model::launch::parse_options(argc, argv);
  int code = 0;
  if (!options) {
    code = refuse(options.error());
  } else if (options->check) {
    code = stage_model::launch::check_node(*options);
  } else {
    code = run(*options);
  }
  fflush(nullptr);
  // Not exit(): PMIx's thread, and a resolver that has not come back, are still there.
  _exit(code);
}
