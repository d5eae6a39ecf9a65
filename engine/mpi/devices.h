// The network devices of this node as sysfs shows them: which of them are rails for MPI, and which
// CPUs are near. No state, no threads; `sysfs` is /sys, or a tree that a test made.
#pragma once

#include <string>
#include <vector>

namespace stage_model::mpi {

struct Rail {
  std::string name;       // as UCX (mlx5_0:1) or Open MPI (eth0) wants it
  double gbits = 0;       // per second; 0: the driver does not say
  int numa_node = -1;     // -1: not known
  std::string near_cpus;  // a list as "0-47,96-143"; empty: not known
};

// Ports that RDMA can use between nodes: active; InfiniBand if there is any, else RoCE with an
// address (a GID other than link-local: without one there is no route to another node, as on the
// mlx5 function behind a cloud VM's Ethernet); of those the fastest, as a slower one is
// for something else (storage). In order of device number.
std::vector<Rail> rdma_rails(const std::string& sysfs);

// A network interface by name, also one without hardware behind it.
Rail network_rail(const std::string& sysfs, const std::string& interface);

// Interfaces of hardware that are up, not in `used`, and as fast as the slowest there. Whether the
// other nodes are to be reached by them, sysfs does not say: for a hint, not for use.
std::vector<Rail> idle_rails(const std::string& sysfs, const std::vector<Rail>& used);

// CPUs near at least one rail; empty if there is nothing to choose: one NUMA node, or a rail whose
// place is not known.
std::vector<int> near_cpus(const std::string& sysfs, const std::vector<Rail>& rails);

// "0-2,5" as sysfs writes it; empty where it is not such a list.
std::vector<int> parse_cpu_list(const std::string& text);

// "8 x 400 Gb/s (mlx5_0:1, mlx5_1:1, ...)", "eth0 (100 Gb/s)".
std::string describe(const std::vector<Rail>& rails);

// Keeps this thread, and those that it starts, on CPUs near the rails: among the ones that it has
// (a launcher or cgroup may have chosen), and not at all if that leaves none or changes nothing.
// Returns how many CPUs it was narrowed to; 0: it was not.
std::size_t stay_near(const std::string& sysfs, const std::vector<Rail>& rails);

// How many CPUs this thread may run on: fewer than the node has after stay_near(), or where a
// launcher or cgroup chose. At least 1.
std::size_t own_cpus();

}  // namespace stage_model::mpi
