// What the engine of one run is started with.
#pragma once

#include <string>
#include <vector>

#include "stage_model/config.h"
#include "stage_model/launch_order.h"

namespace stage_model::launch {

// What the site's configuration decides for the engine, the site's own options, the run's.
std::vector<std::string> engine_arguments(const Config& config, const EngineCommand& run);

}  // namespace stage_model::launch
