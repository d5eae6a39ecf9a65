// Which network MPI goes over: the caller's to choose, with mpirun --mca, in the site's
// configuration or in Open MPI's parameter files; the engine chooses what they left open.
#pragma once

#include <string>
#include <vector>

#include "engine/mpi/devices.h"
#include "engine/mpi/settings.h"

namespace stage_model::mpi {

struct Network {
  std::string text;         // for the report: "ob1/tcp on eth0 (100 Gb/s)"
  std::vector<Rail> rails;  // where known
  bool tcp = false;         // a slow wire, not RDMA
};

// Before MPI_Init. With rails for RDMA: UCX, and which ports it is to use; else TCP over the
// interface of $STAGE_MODEL_ADDRESS, or over all but loopback and the bridges of containers and
// virtual machines. sysfs: /sys, or a tree that a test made.
Network choose_network(Settings& settings, const std::string& sysfs);

// The name of the interface that has this address, IPv4 or IPv6; "" if none has.
std::string interface_of(const std::string& address);

}  // namespace stage_model::mpi
