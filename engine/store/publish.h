// The one step that a reader can see.
#pragma once

#include "engine/store/state.h"
#include "stage_model/result.h"

namespace stage_model::store {

// Makes the sealed temporary directory DEST. Afterwards state->temp is empty and dest_dir is DEST,
// ours or the same model from another job. Errors: kDestination; then DEST is as it was.
Status publish_directory(State* state);

}  // namespace stage_model::store
