// open_staging() with the system calls to use: for tests.
#pragma once

#include <memory>
#include <string>

#include "engine/store/seams.h"
#include "engine/store/store.h"

namespace stage_model::store {

Result<std::unique_ptr<Staging>> open_staging_with(const std::string& destination,
                                                   const StagingOptions& options,
                                                   const Seams& seams);

}  // namespace stage_model::store
