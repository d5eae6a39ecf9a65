#include "engine/mpi/network.h"

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

#include "stage_model/channel.h"

namespace stage_model::mpi {
namespace {

constexpr char kInclude[] = "btl_tcp_if_include";
constexpr char kExclude[] = "btl_tcp_if_exclude";

// UCX has a limit of its own on lanes between two processes (16, of which some are for other uses).
constexpr std::size_t kMaxUcxRails = 8;

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

// Open MPI over TCP uses every interface it finds unless told; a docker0 with the same address on
// every node then hangs the first broadcast (field case M4).
void choose_interfaces(Settings& settings, const std::string& sysfs, Network* network) {
  const char* address = std::getenv(kAddressVariable);
  const std::string met = address != nullptr ? interface_of(address) : std::string();
  bool ours = false;
  if (!settings.given(kInclude) && !settings.given(kExclude)) {
    ours = met != "lo";
    if (!met.empty())
      settings.set_default(kInclude, met);
    else
      settings.set_default(kExclude, "127.0.0.0/8,docker0,virbr0,lxcbr0,cni0,podman0");
  }
  const auto include = settings.given(kInclude);
  if (!include) return;
  // Also subnets may stand here (10.0.0.0/8): then nothing is known of their devices.
  for (const std::string& name : split(*include))
    network->rails.push_back(network_rail(sysfs, name));
  network->text += " on " + describe(network->rails);
  // Who chose has chosen against the others, too.
  const std::vector<Rail> idle = ours ? idle_rails(sysfs, network->rails) : std::vector<Rail>();
  if (idle.empty()) return;
  network->text += fmt::format(
      "; up and not used: {}, see OMPI_MCA_btl_tcp_if_include in docs/tuning.md", describe(idle));
}

Network choose_ob1(Settings& settings, const std::string& sysfs) {
  settings.set_default("pml", "ob1");
  settings.set_default("btl", "tcp,self");
  const std::string btl = settings.given("btl").value_or("");
  if (!allows(btl, "tcp")) return {"ob1/" + btl, {}, false};
  Network network{"ob1/tcp", {}, true};
  choose_interfaces(settings, sysfs, &network);
  return network;
}

Network choose_ucx(Settings& settings, std::vector<Rail> rails) {
  // Debian's openmpi-mca-params.conf excludes ucx, so it has to be asked for.
  settings.set_default("pml", "ucx");
  // Transports that were chosen by hand may not work on these devices (UCX_TLS=tcp on mlx5_0:1).
  if (std::getenv("UCX_TLS") != nullptr) return {"ucx", {}};
  if (const char* chosen = std::getenv("UCX_NET_DEVICES")) {
    return {fmt::format("ucx on {}", chosen), only(std::move(rails), chosen)};
  }
  if (rails.empty()) return {"ucx", {}};
  std::string names;
  for (const Rail& rail : rails) names += (names.empty() ? "" : ",") + rail.name;
  setenv("UCX_NET_DEVICES", names.c_str(), 0);
  // UCX cuts a large message over two rails unless told.
  setenv("UCX_MAX_RNDV_RAILS", std::to_string(std::min(rails.size(), kMaxUcxRails)).c_str(), 0);
  return {"ucx on " + describe(rails), std::move(rails)};
}

}  // namespace

Network choose_network(Settings& settings, const std::string& sysfs) {
  const auto pml = settings.given("pml");
  if (pml == "ucx") return choose_ucx(settings, rdma_rails(sysfs));
  if (pml == "ob1") return choose_ob1(settings, sysfs);
  // cm, or several to choose from; "^ucx" leaves ob1 where there is no other such device.
  if (pml && (!pml->starts_with('^') || allows(*pml, "ucx"))) return {*pml, {}};
  // Who names byte transfer layers (mpirun --mca btl tcp,self) means ob1: nothing else has any.
  if (pml || settings.given("btl")) return choose_ob1(settings, sysfs);
  std::vector<Rail> rails = rdma_rails(sysfs);
  return rails.empty() ? choose_ob1(settings, sysfs) : choose_ucx(settings, std::move(rails));
}

std::string interface_of(const std::string& address) {
  in_addr v4{};
  in6_addr v6{};
  const bool is_v4 = inet_pton(AF_INET, address.c_str(), &v4) == 1;
  if (!is_v4 && inet_pton(AF_INET6, address.c_str(), &v6) != 1) return {};
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(raw, freeifaddrs);
  for (const ifaddrs* i = raw; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != (is_v4 ? AF_INET : AF_INET6)) continue;
    const bool same =
        is_v4 ? reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr.s_addr == v4.s_addr
              : std::memcmp(&reinterpret_cast<const sockaddr_in6*>(i->ifa_addr)->sin6_addr, &v6,
                            sizeof v6) == 0;
    if (!same) continue;
    const std::string_view name = i->ifa_name;
    return std::string(name.substr(0, name.find(':')));  // "eth0:1" is a label of eth0
  }
  return {};
}

}  // namespace stage_model::mpi
