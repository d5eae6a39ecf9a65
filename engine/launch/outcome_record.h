// The node's record of how a staging ended.
#pragma once

#include <string>

#include "engine/launch/verdict.h"
#include "stage_model/launch_order.h"

namespace stage_model::launch {

// Writes the record of the request's record_dir, keeping what the plugin wrote there. A directory
// that was there when the launcher began and is gone now is not made again. Returns a line for
// stderr where it could not be written; the exit code does not depend on it.
std::string write_outcome(const LaunchOrder& request, const Outcome& outcome, bool had_directory);

}  // namespace stage_model::launch
