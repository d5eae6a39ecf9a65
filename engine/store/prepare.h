// The temporary directory, filled: directories, held files, and empty files with their space
// reserved, ready to be written. None of it looks complete to anyone: the manifest comes last.
#pragma once

#include "engine/store/state.h"
#include "stage_model/result.h"

namespace stage_model::store {

// Errors: kDestination.
Status fill_temp_directory(State* state);

}  // namespace stage_model::store
