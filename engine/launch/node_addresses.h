// Where a node's launcher can be reached.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "stage_model/config.h"
#include "stage_model/launch_order.h"
#include "stage_model/result.h"

namespace stage_model::launch {

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  void set_port(std::uint16_t port);
  std::string text() const;  // literal without the port
};

// A literal, IPv4 or IPv6. Errors: kUsage.
Result<Address> parse_address(const std::string& literal);

// The request's address where it gives one; else what the resolver says, then the configured map.
// Loopback addresses come last: some distributions give them to a machine's own name. Blocks for as
// long as the resolver does: never call it on the loop. Errors: kFabric.
Result<std::vector<Address>> addresses_of(const Node& node, const Config& config);

// The ports that a job's launchers try: all of the range, from the job's own one upwards and round.
// Listener and connectors go through the same list, so a port in use costs a probe and no more.
std::vector<std::uint16_t> port_sequence(const std::string& job, const PortRange& range);

}  // namespace stage_model::launch
