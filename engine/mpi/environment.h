// What Open MPI and UCX are told before MPI_Init. What the caller set is left alone.
#pragma once

#include <string>

namespace stage_model::mpi {

// Sets OMPI_MCA_* and UCX_* variables in this process's environment: the network (network.h), the
// broadcast algorithm (broadcast.h), and how MPI waits. Where the machine has several NUMA nodes,
// this thread and those that it will start stay on the CPUs near the rails, unless STAGE_MODEL_PIN
// is "none".
// Returns a short description of network and rails for the report. Call once, before MPI_Init and
// before any thread exists (setenv). sysfs: for tests.
std::string choose_environment(const std::string& sysfs = "/sys");

}  // namespace stage_model::mpi
