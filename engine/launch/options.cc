#include "engine/launch/options.h"

#include <CLI/CLI.hpp>
#include <cstring>
#include <iostream>

namespace stage_model::launch {
namespace {

constexpr char kAbout[] =
    "Starts stage-engine on every node of a job, one rank per node, as the job's user.\n"
    "Started once per node, at the same time, with the same list of nodes; the launchers find\n"
    "each other, host the engine's MPI (as a PMIx server) and end with one outcome for all.\n"
    "No sshd, no hostfile, no mpirun.";

constexpr char kFooter[] =
    "Examples:\n"
    "  stage-launch --check\n"
    "  stage-launch --job 7 --index 0 --nodes n1,n2 -- az://account/container/model/ /nvme/model\n"
    "  stage-launch --job 7 --nodes n1=10.0.0.1,n2=10.0.0.2 --key-file /etc/stage-key -- ...\n"
    "\n"
    "Exit codes: 0 staged, 2 usage, 3 source, 4 destination, 5 transfer, 6 fabric, 7 integrity,\n"
    "8 stopped (cancel, deadline, peer lost).";

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  CLI::App app(kAbout, "stage-launch");
  app.footer(kFooter);
  app.set_version_flag("--version", "stage-launch " STAGE_LAUNCH_VERSION);
  app.add_flag("--check", options.check,
               "Check this node's set-up, and say what to do; exit 2 if it fails");
  app.add_option("--config", options.config,
                 "Site configuration (default: stage_model.toml beside slurm.conf)");
  app.add_flag("--no-config", options.no_config, "Use built-in defaults, read no configuration");
  app.add_option("--request", options.request, "What to do, as the Slurm plugin writes it (TOML)");
  app.add_flag("--verbose", options.verbose, "Say what happens when, on stderr");

  const char* hand = "Without a request file";
  app.add_option("--job", options.job, "Name of the job, the same on all nodes")
      ->group(hand)
      ->envname("STAGE_LAUNCH_JOB");
  app.add_option("--index", options.index,
                 "This node's place in the list, from 0 (default: where the host name is)")
      ->group(hand)
      ->envname("JOB_COMPLETION_INDEX");
  app.add_option("--nodes", options.nodes, "NAME[=ADDRESS],...: all nodes in rank order")
      ->group(hand)
      ->envname("STAGE_LAUNCH_NODES");
  app.add_option("--nodes-file", options.nodes_file, "The same, one per line")->group(hand);
  app.add_option("--key-file", options.key_file,
                 "Secret that the launchers share, in place of munge")
      ->group(hand);
  app.add_option("--uid", options.uid, "Run the engine as this user (default: the caller)")
      ->group(hand);
  app.add_option("--gid", options.gid, "... and group")->group(hand);
  app.add_option("--user", options.user, "Login name, for supplementary groups")->group(hand);
  app.add_option("--root", options.root, "Create ROOT/USER for the user")->group(hand);
  app.add_option("--record-dir", options.record_dir, "Write the outcome and the engine's log here")
      ->group(hand);
  app.add_option("--engine", options.engine,
                 "Engine to run (default: stage-engine beside this program)")
      ->group(hand);
  app.add_option("--credential-env", options.credential_names,
                 "NAME of a variable to hand to the engine, not by environment")
      ->group(hand);
  app.add_option("--star-limit", options.star_limit)->group("");
  app.add_option("--fan-out", options.fan_out)->group("");

  // What follows "--" is the engine's, whatever it looks like.
  int own = argc;
  for (int i = 1; i < argc && own == argc; ++i) {
    if (std::strcmp(argv[i], "--") == 0) own = i;
  }
  for (int i = own + 1; i < argc; ++i) options.engine_arguments.emplace_back(argv[i]);
  try {
    app.parse(own, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      app.exit(error);
      return fail(ExitCode::kStaged, "");
    }
    return fail(ExitCode::kUsage, std::string(error.what()) + " (see stage-launch --help)");
  }
  return options;
}

}  // namespace stage_model::launch
