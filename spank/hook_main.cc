// stage-hook: what the plugin's hooks in slurmd do, for a site's own Prolog= and Epilog= scripts
// (with `prolog=off` behind the plugin in plugstack.conf). Always ends with 0: another status would
// drain the node for what is the user's mistake; the reason goes to the node's record, from where
// the plugin shows it to the user.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "spank/hooks.h"
#include "spank/slurm_node.h"

namespace {

using namespace stage_model::spank;  // NOLINT(google-build-using-namespace): it speaks of nothing
                                     // else

constexpr char kUsage[] =
    "Usage: stage-hook prolog|epilog [config=PATH]\n"
    "Stages the model that a job asked for, or cleans up after it; to be called by slurmd's "
    "Prolog=\n"
    "and Epilog= scripts, with the environment that they are given. Always ends with 0.\n";

// A script's caller may have closed them: the first file opened would become one of them.
void open_standard_descriptors() {
  int fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::dup(fd);
  if (fd > STDERR_FILENO) ::close(fd);
}

// The job's credentials are in this process' memory.
void hide_memory() {
  ::prctl(PR_SET_DUMPABLE, 0);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

void run(std::string_view hook, const PluginArguments& arguments) {
  SlurmNodeCalls slurm;
  if (hook == "prolog") {
    run_prolog(slurm, arguments);
  } else {
    run_epilog(slurm, arguments);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view hook = argc > 1 ? argv[1] : "";
  if (hook != "prolog" && hook != "epilog") {
    std::fputs(kUsage, hook == "--help" ? stdout : stderr);
    return 0;
  }
  open_standard_descriptors();
  hide_memory();
  ::umask(022);
  try {
    const PluginArguments arguments = parse_arguments(argc - 2, argv + 2);
    for (const std::string& word : arguments.unknown) {
      std::fprintf(stderr, "stage-hook: unknown argument \"%s\"\n", word.c_str());
    }
    run(hook, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stage-hook: internal error: %s\n", error.what());
  }
  return 0;
}
