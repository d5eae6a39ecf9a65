#include "engine/cast/environment.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "stage_model/channel.h"

namespace stage_model::cast {
namespace {

namespace fs = std::filesystem;

constexpr char kSegment[] = "OMPI_MCA_coll_adapt_bcast_segment_size";

void set_default(const char* name, const std::string& value) { setenv(name, value.c_str(), 0); }

bool has_active_hca() {
  std::error_code ignored;
  for (const auto& device : fs::directory_iterator("/sys/class/infiniband", ignored)) {
    for (const auto& port : fs::directory_iterator(device.path() / "ports", ignored)) {
      std::ifstream file(port.path() / "state");
      std::string state;
      if (std::getline(file, state) && state.find("ACTIVE") != std::string::npos) return true;
    }
  }
  return false;
}

// The interface that holds `address`; empty if none does.
std::string interface_of(const char* address) {
  in_addr v4{};
  in6_addr v6{};
  const bool is_v4 = inet_pton(AF_INET, address, &v4) == 1;
  if (!is_v4 && inet_pton(AF_INET6, address, &v6) != 1) return {};
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(raw, freeifaddrs);
  for (const ifaddrs* i = raw; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr) continue;
    if (is_v4 && i->ifa_addr->sa_family == AF_INET &&
        reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr.s_addr == v4.s_addr) {
      return i->ifa_name;
    }
    if (!is_v4 && i->ifa_addr->sa_family == AF_INET6 &&
        std::memcmp(&reinterpret_cast<const sockaddr_in6*>(i->ifa_addr)->sin6_addr, &v6,
                    sizeof v6) == 0) {
      return i->ifa_name;
    }
  }
  return {};
}

// Many roots in flight: coll/adapt's pipeline (algorithm 4). A segment is what a rank of the chain
// receives before it sends on: small where a wire is slow, larger where calls would cost more.
void choose_broadcast(const char* segment_bytes) {
  if (std::getenv("OMPI_MCA_coll") != nullptr) return;
  set_default("OMPI_MCA_coll_adapt_priority", "100");
  set_default("OMPI_MCA_coll_adapt_bcast_algorithm", "4");
  set_default(kSegment, segment_bytes);
}

// What the launcher says before MPI can tell; 1 if nobody says anything.
int promised_ranks() {
  for (const char* name : {kNodesVariable, "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  return 1;
}

std::string choose_tcp() {
  choose_broadcast("65536");
  set_default("OMPI_MCA_pml", "ob1");
  set_default("OMPI_MCA_btl", "tcp,self");
  if (std::getenv("OMPI_MCA_btl_tcp_if_include") == nullptr &&
      std::getenv("OMPI_MCA_btl_tcp_if_exclude") == nullptr) {
    const char* address = std::getenv(kAddressVariable);
    const std::string name = address != nullptr ? interface_of(address) : std::string();
    if (!name.empty() && name != "lo") {
      set_default("OMPI_MCA_btl_tcp_if_include", name);
    } else {
      // Bridges that stand on every node with the same address (M4).
      set_default("OMPI_MCA_btl_tcp_if_exclude", "127.0.0.0/8,docker0,virbr0,lxcbr0,cni0,podman0");
    }
  }
  const char* include = std::getenv("OMPI_MCA_btl_tcp_if_include");
  return include != nullptr ? fmt::format("ob1/tcp on {}", include) : "ob1/tcp";
}

}  // namespace

std::string choose_environment() {
  set_default("OMPI_MCA_mpi_yield_when_idle", "1");
  // Each look at the sockets costs poll() a visit to every connection, epoll only to the busy ones:
  // of 128 ranks on two cores a third of all time (tests/integration/launch/many_ranks_test.py).
  set_default("OMPI_MCA_opal_event_include", "epoll");
  // A rank on its own needs no orted, which may not be installed (images, bundles).
  set_default("OMPI_MCA_ess_singleton_isolated", "1");
  if (const char* pml = std::getenv("OMPI_MCA_pml")) {
    return std::strcmp(pml, "ob1") == 0 && std::getenv("OMPI_MCA_btl") == nullptr ? choose_tcp()
                                                                                  : pml;
  }
  if (has_active_hca()) {
    // Debian's openmpi-mca-params.conf excludes ucx, so it has to be asked for.
    set_default("OMPI_MCA_pml", "ucx");
    // A deep chain wants smaller ones (tests/bench/simulate: at 4,096 ranks 2.1 x the bound against
    // 1.3).
    choose_broadcast(promised_ranks() > 256 ? "131072" : "524288");
    return "ucx";
  }
  return choose_tcp();
}

std::uint64_t segment_bytes() {
  const char* text = std::getenv(kSegment);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
}

}  // namespace stage_model::cast
