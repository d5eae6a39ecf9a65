// Which ports a job's launchers try, in order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stage_model/config.h"

namespace stage_model::launch {

// All ports of the range, from the job's own one upwards and round. Listener and connectors go
// through the same list, so a port in use costs a probe and nothing else.
std::vector<std::uint16_t> port_sequence(const std::string& job, const PortRange& range);

}  // namespace stage_model::launch
