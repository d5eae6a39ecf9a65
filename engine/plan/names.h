// Are the names of a listing safe and possible as local paths? Names are bytes: never decoded,
// never normalised, never trusted (a store may hold "../../etc/cron.d/x").
#pragma once

#include <string_view>

#include "engine/plan/types.h"
#include "stage_model/result.h"

namespace stage_model::plan {

inline constexpr std::size_t kMaxComponent =
    255;                                       // NAME_MAX of every Linux file system that counts
inline constexpr std::size_t kMaxPath = 4095;  // PATH_MAX without the NUL
inline constexpr std::string_view kReservedName = ".stage-model";

// Refuses the whole listing (kSource, naming the object) if an object is unusable (plan/types.h), a
// name is absolute, has an empty, "." or
// ".." component, holds NUL, is longer than the file system allows below `destination`, stands
// there twice, is a file and a directory at once, or lies under .stage-model/.
Status check_names(const Listing& listing, std::string_view destination);

// A name fit for a message: control and non-UTF-8 bytes as \xNN, cut in the middle when very long.
std::string printable(std::string_view name);

}  // namespace stage_model::plan
