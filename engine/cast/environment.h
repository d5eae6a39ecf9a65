// What Open MPI and UCX are told before MPI_Init. What the user or the site set is left alone.
#pragma once

#include <cstdint>
#include <string>

namespace stage_model::cast {

// Sets OMPI_MCA_* variables in this process's environment:
// - the broadcast algorithm for many roots in flight (coll/adapt pipeline; measured best of the
//   installed ones, shared/facts/pmix.md);
// - without an active InfiniBand or RoCE port: plain TCP over the interface of
// $STAGE_MODEL_ADDRESS,
//   else over all but loopback and the bridges of containers and virtual machines (field case M4).
// Returns a short description of the transport for the report. Call once, before MPI_Init and
// before any thread exists (setenv).
std::string choose_environment();

// What a rank of a broadcast's chain receives before it sends on, after choose_environment(); 0:
// not known (another algorithm was asked for).
std::uint64_t segment_bytes();

}  // namespace stage_model::cast
