// The whole seam as a plugin has it.
#pragma once

#include <memory>

#include "spank/slurm_seam.h"

struct spank_handle;

namespace stage_model::spank {

// `handle` is what Slurm gave to the hook; it outlives the object.
std::unique_ptr<Slurm> slurm_calls(spank_handle* handle);

}  // namespace stage_model::spank
