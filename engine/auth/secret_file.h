// Small files of the user's that hold secrets.
#pragma once

#include <string>

#include "engine/base/variables.h"
#include "stage_model/result.h"

namespace stage_model::auth {

// The whole of a regular file of at most 1 MiB. Errors: kUsage if it is not there, kSource for all
// else; messages name the path.
Result<std::string> read_secret_file(const std::string& path);

// HOME, else what the user database says (prologs have no HOME); "" if there is none.
std::string home_directory(const Variables& variables);

}  // namespace stage_model::auth
