#include "engine/mpi/environment.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/mpi/devices.h"
#include "stage_model/channel.h"

namespace stage_model::mpi {
namespace {

constexpr char kSegment[] = "OMPI_MCA_coll_adapt_bcast_segment_size";

// UCX has a limit of its own on lanes between two processes (16, of which some are for other uses).
constexpr std::size_t kMaxUcxRails = 8;

// "none": threads may run anywhere.
constexpr char kPin[] = "STAGE_MODEL_PIN";

void set_default(const char* name, const std::string& value) { setenv(name, value.c_str(), 0); }

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

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    names.emplace_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return names;
}

// Of the rails, those that the user's UCX_NET_DEVICES names ("all", or "mlx5_0:1,mlx5_1:1").
std::vector<Rail> only(std::vector<Rail> rails, std::string_view chosen) {
  if (chosen == "all") return rails;
  const std::vector<std::string> names = split(chosen);
  rails.erase(std::remove_if(rails.begin(), rails.end(),
                             [&](const Rail& rail) {
                               return std::find(names.begin(), names.end(), rail.name) ==
                                      names.end();
                             }),
              rails.end());
  return rails;
}

struct Transport {
  std::string text;
  std::vector<Rail> rails;  // where known
};

Transport choose_tcp(const std::string& sysfs) {
  choose_broadcast("65536");
  set_default("OMPI_MCA_pml", "ob1");
  set_default("OMPI_MCA_btl", "tcp,self");
  const char* address = std::getenv(kAddressVariable);
  const std::string met = address != nullptr ? interface_of(address) : std::string();
  if (std::getenv("OMPI_MCA_btl_tcp_if_include") == nullptr &&
      std::getenv("OMPI_MCA_btl_tcp_if_exclude") == nullptr) {
    if (!met.empty() && met != "lo") {
      set_default("OMPI_MCA_btl_tcp_if_include", met);
    } else {
      // Bridges that stand on every node with the same address (M4).
      set_default("OMPI_MCA_btl_tcp_if_exclude", "127.0.0.0/8,docker0,virbr0,lxcbr0,cni0,podman0");
    }
  }
  const char* include = std::getenv("OMPI_MCA_btl_tcp_if_include");
  if (include == nullptr) return {"ob1/tcp", {}};
  Transport transport;
  // Also subnets may stand here (10.0.0.0/8): then nothing is known of their devices.
  for (const std::string& name : split(include)) {
    transport.rails.push_back(network_rail(sysfs, name));
  }
  transport.text = "ob1/tcp on " + describe(transport.rails);
  // The launcher sets the one that it met the others on, too: nobody's choice against the others.
  const std::vector<Rail> idle =
      met == include && met != "lo" ? idle_rails(sysfs, transport.rails) : std::vector<Rail>();
  if (!idle.empty()) {
    transport.text += fmt::format(
        "; up and not used: {}, see OMPI_MCA_btl_tcp_if_include in "
        "docs/tuning.md",
        describe(idle));
  }
  return transport;
}

Transport choose_ucx(std::vector<Rail> rails) {
  // Debian's openmpi-mca-params.conf excludes ucx, so it has to be asked for.
  set_default("OMPI_MCA_pml", "ucx");
  // A deep chain wants smaller ones: tests/bench/simulate --nodes 4096, and --set segment=524288.
  choose_broadcast(promised_ranks() > 256 ? "131072" : "524288");
  // Transports that were chosen by hand may not work on these devices (UCX_TLS=tcp on mlx5_0:1).
  if (std::getenv("UCX_TLS") != nullptr) return {"ucx", {}};
  if (const char* chosen = std::getenv("UCX_NET_DEVICES")) {
    return {fmt::format("ucx on {}", chosen), only(std::move(rails), chosen)};
  }
  if (rails.empty()) return {"ucx", {}};
  std::string names;
  for (const Rail& rail : rails) names += (names.empty() ? "" : ",") + rail.name;
  set_default("UCX_NET_DEVICES", names);
  // UCX cuts a large message over two rails unless told.
  set_default("UCX_MAX_RNDV_RAILS", std::to_string(std::min(rails.size(), kMaxUcxRails)));
  return {"ucx on " + describe(rails), std::move(rails)};
}

Transport choose_transport(const std::string& sysfs) {
  std::vector<Rail> rails = rdma_rails(sysfs);
  if (const char* pml = std::getenv("OMPI_MCA_pml")) {
    if (std::strcmp(pml, "ucx") == 0) return choose_ucx(std::move(rails));
    if (std::strcmp(pml, "ob1") == 0 && std::getenv("OMPI_MCA_btl") == nullptr) {
      return choose_tcp(sysfs);
    }
    return {pml, {}};
  }
  return rails.empty() ? choose_tcp(sysfs) : choose_ucx(std::move(rails));
}

}  // namespace

std::string choose_environment(const std::string& sysfs) {
  set_default("OMPI_MCA_mpi_yield_when_idle", "1");
  // Each look at the sockets costs poll() a visit to every connection, epoll only to the busy ones:
  // 128 ranks on two cores were done in 30 s, not 51 (tests/integration/launch/many_ranks_test.py).
  set_default("OMPI_MCA_opal_event_include", "epoll");
  // A rank on its own needs no orted, which may not be installed (images, bundles).
  set_default("OMPI_MCA_ess_singleton_isolated", "1");
  Transport transport = choose_transport(sysfs);
  const char* pin = std::getenv(kPin);
  if (pin != nullptr && std::strcmp(pin, "none") == 0) return transport.text;
  const std::size_t cpus = stay_near(sysfs, transport.rails);
  if (cpus > 0) transport.text += fmt::format(", threads on the {} CPU(s) near", cpus);
  return transport.text;
}

std::uint64_t segment_bytes() {
  const char* text = std::getenv(kSegment);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
}

}  // namespace stage_model::mpi
