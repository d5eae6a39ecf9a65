// stage-engine SOURCE DEST: one rank per node, or alone. The order of the stages is the program.

#include <fmt/format.h>
#include <sys/prctl.h>

#include <cstdio>

#include "engine/credentials.h"
#include "engine/mpi/environment.h"
#include "engine/mpi/fabric.h"
#include "engine/options.h"
#include "engine/report/status_channel.h"
#include "engine/run.h"
#include "engine/signals.h"

namespace stage_model {
namespace {

int say(const Error& error, const std::string& node, report::StatusChannel& status) {
  status.failed(error, node);
  fmt::print(stderr, "stage-engine: {}{}{}\n", node, node.empty() ? "" : ": ", error.message);
  return static_cast<int>(error.code);
}

Run::Outcome stage(Run& run) {
  return run.list()
      .and_then([&] { return run.presence(); })
      .and_then([&] { return run.dry_run() ? Run::Outcome() : run.space(); })
      .and_then([&] { return run.plan(); })
      .and_then([&]() -> Run::Outcome {
        if (run.dry_run()) {
          run.print_plan();
          return {};
        }
        return run.move()
            .and_then([&] { return run.verify(); })
            .and_then([&] { return run.publish(); })
            .map([&] { run.report(); });
      });
}

// --whoami: without the fabric, so that it runs where a user types it.
int say_identity(const Options& options, report::StatusChannel& status) {
  const source::Variables credentials = read_credentials();
  auto opened = source::open_source(options.source, credentials, options.transfer);
  if (!opened) return say(opened.error(), "", status);
  const auto answer = (*opened)->whoami();
  if (!answer) return say(answer.error(), "", status);
  fmt::print("{}\n", *answer);
  return 0;
}

int run_engine(int argc, char** argv) {
  report::StatusChannel status;
  auto options = parse_options(argc, argv);
  if (!options) return say(options.error(), "", status);
  // Credentials are in memory from here on: no core dump, no ptrace by the same user's other jobs.
  prctl(PR_SET_DUMPABLE, 0);
  catch_signals();
  set_deadline(options->deadline_s);
  if (options->whoami) return say_identity(*options, status);
  source::Variables credentials = read_credentials();
  const std::string transport = mpi::choose_environment();
  auto fabric = mpi::Fabric::init(&argc, &argv);
  if (!fabric) return say(fabric.error(), "", status);
  status.connected();
  Run run(std::move(*options), std::move(credentials), **fabric, status, transport);
  (*fabric)->on_wait(
      [&] {
        status.alive();
        return stop_requested();
      },
      [&](const Error& error) { say(error, (*fabric)->node(), status); }, 0);
  const auto outcome = stage(run);
  if (outcome) return 0;
  const auto& [error, node] = outcome.error();
  if (error.code == ExitCode::kIntegrity) run.discard();
  // Every rank tells its launcher; a terminal needs it once.
  if ((*fabric)->rank() == 0) return say(error, node, status);
  status.failed(error, node);
  return static_cast<int>(error.code);
}

}  // namespace
}  // namespace stage_model

int main(int argc, char** argv) { return stage_model::run_engine(argc, argv); }
