// The plan's input as bytes, for rank 0 to broadcast. Same program on both ends, so no versioning;
// still bounds-checked, since a truncated message must be an error and not a crash.
#pragma once

#include <string>
#include <string_view>

#include "engine/plan/types.h"
#include "stage_model/result.h"

namespace stage_model::plan {

std::string pack(const Listing& listing);
Result<Listing> unpack(std::string_view bytes);  // kFabric

}  // namespace stage_model::plan
