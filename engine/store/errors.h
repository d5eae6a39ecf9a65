// Errno into one line that a person can act on.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

#include "engine/base/text.h"
#include "stage_model/result.h"

namespace stage_model::store {

// "cannot WHAT PATH: reason (what to do)"; kDestination.
tl::unexpected<Error> disk_error(std::string_view what, std::string_view path, int error);

// The disk or the quota is full; what is there can be of no use to anyone.
inline bool out_of_space(int error) { return error == ENOSPC || error == EDQUOT; }

}  // namespace stage_model::store
