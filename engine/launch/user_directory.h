// ROOT/USER, where a user's models live: made by root, given to the user.
#pragma once

#include <sys/types.h>

#include <string>

#include "stage_model/result.h"

namespace stage_model::launch {

// Creates `directory` (0700, owned by uid:gid) below `root`, which must exist. Nothing that exists
// is ever changed: if `directory` is there it must be a directory of that uid. No component below
// `root` may be a symbolic link. Without root's rights the owner is the caller. Errors:
// kDestination.
Status make_user_directory(const std::string& root, const std::string& directory, uid_t uid,
                           gid_t gid);

}  // namespace stage_model::launch
