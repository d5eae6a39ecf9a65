// What a store says of its objects' sizes is not to be believed without end: sums must not wrap,
// and a plan has an entry for each chunk.
#pragma once

#include <cstdint>

#include "engine/plan/types.h"
#include "stage_model/result.h"

namespace stage_model::plan {

// Of one object and of a whole model: 1 EiB.
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 60;

// Errors: kSource, naming the object that is, or makes the model, larger.
Status check_sizes(const Listing& listing);

}  // namespace stage_model::plan
