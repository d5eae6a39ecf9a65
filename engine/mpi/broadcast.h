// How MPI broadcasts: the algorithm. It is the engine's to choose, whatever the network is and
// whoever chose that (network.h); a caller who names an algorithm gets it.
#pragma once

#include <cstdint>
#include <string>

#include "engine/mpi/settings.h"

namespace stage_model::mpi {

// Before MPI_Init: the pipeline of coll/adapt, the best of the installed ones for many roots at
// once (docs/tuning.md). A caller who leaves adapt out (OMPI_MCA_coll), or tunes libnbc's own
// broadcast, has chosen; of adapt's parameters those that are given stay. slow_wire: TCP, not RDMA.
void choose_broadcast(Settings& settings, bool slow_wire, int ranks);

struct Broadcast {
  std::string text;           // "pipeline of 64 KiB segments", for the report
  std::uint64_t segment = 0;  // bytes that a rank receives before it sends on; 0: not known
  bool chosen = false;        // coll/adapt is what runs
};

// After MPI_Init: what MPI itself says that it will use, wherever that was set.
Broadcast active_broadcast();

}  // namespace stage_model::mpi
