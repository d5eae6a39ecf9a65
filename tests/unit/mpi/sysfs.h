// A made-up /sys for one test.
#pragma once

#include <fmt/format.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace stage_model::mpi {

constexpr char kNoGid[] = "0000:0000:0000:0000:0000:0000:0000:0000";
constexpr char kLinkLocal[] = "fe80:0000:0000:0000:0e42:a1ff:fe2b:0000";
constexpr char kIpv4[] = "0000:0000:0000:0000:0000:ffff:0a00:0004";

// The lowest CPU that this thread may use; -1: it has no other to be kept from.
inline int first_of_several_cpus() {
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine) != 0 || CPU_COUNT(&mine) < 2) return -1;
  int first = 0;
  while (!CPU_ISSET(first, &mine)) ++first;
  return first;
}

class Sysfs {
 public:
  Sysfs() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sysfs.XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~Sysfs() { std::filesystem::remove_all(root_); }
  Sysfs(const Sysfs&) = delete;
  Sysfs& operator=(const Sysfs&) = delete;

  const std::string& path() const { return root_; }

  void file(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(root_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }

  void numa(int nodes, int cpus_each) const {
    for (int node = 0; node < nodes; ++node) {
      file(fmt::format("devices/system/node/node{}/cpulist", node),
           fmt::format("{}-{}", node * cpus_each, (node + 1) * cpus_each - 1));
    }
    file("devices/system/node/online", "0");
  }

  void place(const std::string& device, int numa_node, const std::string& cpus) const {
    file(device + "/device/numa_node", std::to_string(numa_node));
    file(device + "/device/local_cpulist", cpus);
  }

  void hca(const std::string& name, const std::string& layer, const std::string& state,
           const std::string& rate, int numa_node, const std::string& cpus,
           const std::string& gid = kNoGid) const {
    const std::string device = "class/infiniband/" + name;
    file(device + "/ports/1/state", state);
    file(device + "/ports/1/link_layer", layer);
    file(device + "/ports/1/rate", rate);
    file(device + "/ports/1/gids/0", kLinkLocal);
    file(device + "/ports/1/gids/1", gid);
    place(device, numa_node, cpus);
  }

  void nic(const std::string& name, int megabits, const std::string& state, int numa_node,
           const std::string& cpus) const {
    file("class/net/" + name + "/speed", std::to_string(megabits));
    file("class/net/" + name + "/operstate", state);
    place("class/net/" + name, numa_node, cpus);
  }

  // Azure's ND H100 v5: eight HCAs over two sockets of 48, and Ethernet by an mlx5 function too.
  void nd_h100() const {
    numa(2, 48);
    for (int i = 0; i < 8; ++i) {
      hca(fmt::format("mlx5_ib{}", i), "InfiniBand", "4: ACTIVE", "400 Gb/sec (4X NDR)", i / 4,
          i < 4 ? "0-47" : "48-95");
    }
    hca("mlx5_an0", "Ethernet", "4: ACTIVE", "100 Gb/sec (4X EDR)", 0, "0-47");
  }

 private:
  std::string root_;
};

}  // namespace stage_model::mpi
