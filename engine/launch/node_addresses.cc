#include "engine/launch/node_addresses.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace stage_model::launch {
namespace {

Address make_address(const sockaddr* from, socklen_t length) {
  Address address;
  std::memcpy(&address.storage, from, std::min<std::size_t>(length, sizeof address.storage));
  address.length = length;
  return address;
}

bool is_loopback(const Address& address) {
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address.storage);
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address.storage);
  if (address.storage.ss_family == AF_INET) return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
  return address.storage.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

std::vector<Address> resolve(const std::string& host, int flags, std::string* problem) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  std::vector<Address> found;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (error != 0) {
    *problem = error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error);
    return found;
  }
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    found.push_back(make_address(one->ai_addr, one->ai_addrlen));
  }
  freeaddrinfo(list);
  return found;
}

std::uint32_t number_of(const std::string& job) {
  // A Slurm job id keeps its distance from its neighbours; any other name is hashed (FNV-1a).
  std::uint32_t number = 0;
  std::uint32_t hash = 2166136261U;
  bool digits = !job.empty();
  for (const char c : job) {
    digits = digits && c >= '0' && c <= '9';
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return digits ? number : hash;
}

}  // namespace

void Address::set_port(std::uint16_t port) {
  if (storage.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(&storage)->sin_port = htons(port);
  }
}

std::string Address::text() const {
  std::array<char, NI_MAXHOST> text{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&storage), length, text.data(), text.size(),
                  nullptr, 0, NI_NUMERICHOST) != 0) {
    return "?";
  }
  return text.data();
}

Result<Address> parse_address(const std::string& literal) {
  std::string problem;
  const std::vector<Address> found = resolve(literal, AI_NUMERICHOST, &problem);
  if (found.empty()) {
    return fail(ExitCode::kUsage, fmt::format("\"{}\" is not an IPv4 or IPv6 address", literal));
  }
  return found.front();
}

Result<std::vector<Address>> addresses_of(const Node& node, const Config& config) {
  if (!node.address.empty()) {
    const Result<Address> literal = parse_address(node.address);
    if (!literal) return tl::unexpected(literal.error());
    return std::vector<Address>{*literal};
  }
  std::string problem;
  std::vector<Address> found = resolve(node.name, AI_ADDRCONFIG, &problem);
  const auto mapped = config.addresses.find(node.name);
  if (mapped != config.addresses.end()) {
    const Result<Address> literal = parse_address(mapped->second);
    if (!literal) return tl::unexpected(literal.error());
    found.push_back(*literal);
  }
  if (found.empty()) {
    return fail(ExitCode::kFabric,
                fmt::format("no address for node {}: {}; name it in DNS or /etc/hosts, or under "
                            "[network] addresses in stage_model.toml",
                            node.name, problem));
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const Address& address) { return !is_loopback(address); });
  return found;
}

std::vector<std::uint16_t> port_sequence(const std::string& job, const PortRange& range) {
  std::vector<std::uint16_t> ports;
  if (range.last < range.first) return ports;
  const std::uint32_t count = range.last - range.first + 1U;
  const std::uint32_t start = number_of(job) % count;
  ports.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    ports.push_back(static_cast<std::uint16_t>(range.first + (start + i) % count));
  }
  return ports;
}

}  // namespace stage_model::launch
