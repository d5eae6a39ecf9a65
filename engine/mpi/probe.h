// What the fabric can do, from a few messages at start: some milliseconds, tens of them on a slow
// wire. It also makes the connections that the broadcasts will use.
#pragma once

#include "engine/mpi/fabric.h"

namespace stage_model::mpi {

struct FabricSpeed {
  double chain_s = 0;      // until one byte from rank 0 has reached every rank
  double bytes_per_s = 0;  // of the slowest rank when each sends to the next at once; 0: one rank
};

// Collective; the same answer on every rank.
FabricSpeed probe(Fabric& fabric);

}  // namespace stage_model::mpi
