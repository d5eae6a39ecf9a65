// Turns a filled temporary directory into a model: exact lengths, everything on the disk, and last
// of all the manifest that says so.
#pragma once

#include <vector>

#include "engine/store/state.h"
#include "stage_model/result.h"

namespace stage_model::store {

// As Staging::seal. No writer may be at work. Errors: kDestination, kIntegrity.
Status seal_temp_directory(State* state, const std::vector<std::vector<ProvenExtent>>& extents);

}  // namespace stage_model::store
