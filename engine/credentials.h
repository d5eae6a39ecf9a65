// Where the engine's credentials come from: the launcher's descriptor, else the environment.
#pragma once

#include "engine/source/source.h"

namespace stage_model {

// Reads the descriptor to its end and closes it; variables of the environment fill what it lacks.
source::Variables read_credentials();

}  // namespace stage_model
