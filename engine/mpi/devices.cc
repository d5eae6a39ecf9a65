#include "engine/mpi/devices.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

namespace stage_model::mpi {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLower = "lower_";
constexpr int kMaxCpus = 8192;  // more than any kernel is built for

std::string read_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// mlx5_10 after mlx5_9: UCX numbers rails in the order of the list, and all nodes should agree.
bool by_number(const std::string& a, const std::string& b) {
  const auto digits = [](const std::string& name) {
    std::size_t at = name.size();
    while (at > 0 && std::isdigit(static_cast<unsigned char>(name[at - 1])) != 0) --at;
    return at;
  };
  const std::string_view a_stem = std::string_view(a).substr(0, digits(a));
  const std::string_view b_stem = std::string_view(b).substr(0, digits(b));
  if (a_stem != b_stem) return a_stem < b_stem;
  if (a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

std::vector<std::string> entries(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end(), by_number);
  return names;
}

// The CPUs of this thread; empty if the kernel does not say.
std::vector<cpu_set_t> affinity() {
  std::vector<cpu_set_t> cpus(CPU_ALLOC_SIZE(kMaxCpus) / sizeof(cpu_set_t));
  if (sched_getaffinity(0, cpus.size() * sizeof(cpu_set_t), cpus.data()) != 0) {
    std::fill(cpus.begin(), cpus.end(), cpu_set_t{});
  }
  return cpus;
}

void place(const fs::path& device, Rail* rail) {
  const std::string node = read_line(device / "numa_node");
  int number = -1;
  std::from_chars(node.data(), node.data() + node.size(), number);
  rail->numa_node = number;
  rail->near_cpus = read_line(device / "local_cpulist");
}

// Tables have empty slots: all zero. fe80:: reaches the next switch port and nobody beyond.
bool has_address(const fs::path& port) {
  for (const std::string& slot : entries(port / "gids")) {
    const std::string gid = read_line(port / "gids" / slot);
    const bool empty = gid.find_first_not_of("0:") == std::string::npos;
    if (!empty && gid.compare(0, 5, "fe80:") != 0) return true;
  }
  return false;
}

}  // namespace

std::vector<Rail> rdma_rails(const std::string& sysfs) {
  const fs::path devices = fs::path(sysfs) / "class/infiniband";
  std::vector<Rail> infiniband;
  std::vector<Rail> roce;
  for (const std::string& device : entries(devices)) {
    for (const std::string& number : entries(devices / device / "ports")) {
      const fs::path port = devices / device / "ports" / number;
      if (read_line(port / "state").find("ACTIVE") == std::string::npos) continue;
      const std::string layer = read_line(port / "link_layer");
      Rail rail;
      rail.name = fmt::format("{}:{}", device, number);
      rail.gbits = std::strtod(read_line(port / "rate").c_str(), nullptr);
      place(devices / device / "device", &rail);
      // Anything else (EFA says "Unspecified") is not for UCX.
      if (layer == "InfiniBand") infiniband.push_back(rail);
      if (layer == "Ethernet" && has_address(port)) roce.push_back(rail);
    }
  }
  std::vector<Rail>& rails = infiniband.empty() ? roce : infiniband;
  double fastest = 0;
  for (const Rail& rail : rails) fastest = std::max(fastest, rail.gbits);
  rails.erase(std::remove_if(rails.begin(), rails.end(),
                             [fastest](const Rail& rail) { return rail.gbits < fastest; }),
              rails.end());
  return std::move(rails);
}

Rail network_rail(const std::string& sysfs, const std::string& interface) {
  const fs::path directory = fs::path(sysfs) / "class/net" / interface;
  Rail rail;
  rail.name = interface;
  // Mb/s; a virtual or unplugged one says -1, or refuses the read.
  rail.gbits = std::max(std::strtod(read_line(directory / "speed").c_str(), nullptr), 0.0) / 1000;
  place(directory / "device", &rail);
  // A bond, or a cloud VM's interface over a virtual function: where its hardware is.
  for (const std::string& entry : entries(directory)) {
    if (rail.numa_node < 0 && entry.compare(0, kLower.size(), kLower) == 0) {
      place(directory / entry / "device", &rail);
    }
  }
  return rail;
}

std::vector<Rail> idle_rails(const std::string& sysfs, const std::vector<Rail>& used) {
  const fs::path directory = fs::path(sysfs) / "class/net";
  double slowest = 0;
  for (const Rail& rail : used) {
    slowest = slowest == 0 ? rail.gbits : std::min(slowest, rail.gbits);
  }
  std::vector<Rail> idle;
  for (const std::string& name : entries(directory)) {
    std::error_code error;
    const bool hardware = fs::exists(directory / name / "device", error);
    const bool enslaved = fs::exists(directory / name / "master", error);
    const bool in_use = std::any_of(used.begin(), used.end(),
                                    [&name](const Rail& rail) { return rail.name == name; });
    if (!hardware || enslaved || in_use || read_line(directory / name / "operstate") != "up") {
      continue;
    }
    Rail rail = network_rail(sysfs, name);
    if (rail.gbits > 0 && rail.gbits >= slowest) idle.push_back(std::move(rail));
  }
  return idle;
}

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at != end) {
    int first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc() || first < 0 || first >= kMaxCpus) return {};
    int last = first;
    if (read.ptr != end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, last);
      if (read.ec != std::errc() || last < first || last >= kMaxCpus) return {};
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    at = read.ptr;
    if (at != end && *at++ != ',') return {};
  }
  return cpus;
}

std::vector<int> near_cpus(const std::string& sysfs, const std::vector<Rail>& rails) {
  const fs::path nodes = fs::path(sysfs) / "devices/system/node";
  std::size_t count = 0;
  for (const std::string& name : entries(nodes)) {
    // A node without CPUs holds memory alone (HBM, CXL) and is no place to be kept from.
    if (!parse_cpu_list(read_line(nodes / name / "cpulist")).empty()) ++count;
  }
  if (count < 2) return {};
  std::set<int> near;
  for (const Rail& rail : rails) {
    if (rail.numa_node < 0) return {};
    std::vector<int> cpus = parse_cpu_list(rail.near_cpus);
    if (cpus.empty()) {
      cpus = parse_cpu_list(read_line(nodes / fmt::format("node{}", rail.numa_node) / "cpulist"));
    }
    near.insert(cpus.begin(), cpus.end());
  }
  return {near.begin(), near.end()};
}

std::string describe(const std::vector<Rail>& rails) {
  if (rails.empty()) return {};
  const std::string speed =
      rails[0].gbits > 0 ? fmt::format("{:g} Gb/s", rails[0].gbits) : std::string();
  if (rails.size() == 1) {
    return rails[0].name + (speed.empty() ? "" : fmt::format(" ({})", speed));
  }
  std::string names;
  for (const Rail& rail : rails) names += (names.empty() ? "" : ", ") + rail.name;
  return fmt::format("{}{} ({})", rails.size(), speed.empty() ? " rails" : " x " + speed, names);
}

std::size_t stay_near(const std::string& sysfs, const std::vector<Rail>& rails) {
  const std::vector<int> near = near_cpus(sysfs, rails);
  if (near.empty()) return 0;
  const std::vector<cpu_set_t> mine = affinity();
  const std::size_t size = mine.size() * sizeof(cpu_set_t);
  std::vector<cpu_set_t> narrowed(mine.size());
  for (const int cpu : near) {
    if (CPU_ISSET_S(cpu, size, mine.data())) CPU_SET_S(cpu, size, narrowed.data());
  }
  const int count = CPU_COUNT_S(size, narrowed.data());
  if (count == 0 || count == CPU_COUNT_S(size, mine.data())) return 0;
  return sched_setaffinity(0, size, narrowed.data()) == 0 ? static_cast<std::size_t>(count) : 0;
}

std::size_t own_cpus() {
  const std::vector<cpu_set_t> mine = affinity();
  const int count = CPU_COUNT_S(mine.size() * sizeof(cpu_set_t), mine.data());
  return static_cast<std::size_t>(std::max(count, 1));
}

}  // namespace stage_model::mpi
