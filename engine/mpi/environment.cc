#include "engine/mpi/environment.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "engine/mpi/broadcast.h"
#include "engine/mpi/network.h"
#include "engine/mpi/settings.h"
#include "stage_model/channel.h"

namespace stage_model::mpi {
namespace {

// What the launcher says before MPI can tell; 1 if nobody says anything.
int promised_ranks() {
  for (const char* name : {kNodesVariable, "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  return 1;
}

// "none": threads may run anywhere.
bool may_pin() {
  const char* pin = std::getenv("STAGE_MODEL_PIN");
  return pin == nullptr || std::string_view(pin) != "none";
}

}  // namespace

std::string choose_environment(const std::string& sysfs) {
  Settings settings;
  settings.set_default("mpi_yield_when_idle", "1");
  // Each look at the sockets costs poll() a visit to every connection, epoll only to the busy ones:
  // 128 ranks on two cores were done in 30 s, not 51 (tests/integration/launch/many_ranks_test.py).
  settings.set_default("opal_event_include", "epoll");
  // A rank on its own needs no orted, which may not be installed (images, bundles).
  settings.set_default("ess_singleton_isolated", "1");
  Network network = choose_network(settings, sysfs);
  choose_broadcast(settings, network.tcp, promised_ranks());
  if (!may_pin()) return network.text;
  const std::size_t cpus = stay_near(sysfs, network.rails);
  if (cpus > 0) network.text += fmt::format(", threads on the {} CPU(s) near", cpus);
  return network.text;
}

}  // namespace stage_model::mpi
