// What Open MPI and UCX are told before MPI_Init. What the user or the site set is left alone.
#pragma once

#include <cstdint>
#include <string>

namespace stage_model::mpi {

// Sets OMPI_MCA_* and UCX_* variables in this process's environment:
// - the broadcast algorithm for many roots in flight (coll/adapt pipeline; measured best of the
//   installed ones, docs/tuning.md);
// - with rails for RDMA (devices.h): UCX, and which ports it is to use;
// - else plain TCP over the interface of $STAGE_MODEL_ADDRESS, or over all but loopback and the
//   bridges of containers and virtual machines (field case M4).
// Where the machine has several NUMA nodes, this thread and those that it will start stay on the
// CPUs near the rails, unless STAGE_MODEL_PIN is "none".
// Returns a short description of transport and rails for the report. Call once, before MPI_Init and
// before any thread exists (setenv). sysfs: for tests.
std::string choose_environment(const std::string& sysfs = "/sys");

// What a rank of a broadcast's chain receives before it sends on, after choose_environment(); 0:
// not known (another algorithm was asked for).
std::uint64_t segment_bytes();

}  // namespace stage_model::mpi
