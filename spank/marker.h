// A directory per staged job in a place that needs no configuration to be found: what tells a step
// of any other job that it has nothing to do. Where paths.state_dir is the default one, it is the
// record's own directory.
#pragma once

#include <string>

#include "stage_model/result.h"

namespace stage_model::spank {

// DIRECTORY/JOB, 0700, root's. There already: fine. Errors: kDestination.
Status mark_job(const std::string& directory, const std::string& job);
enum class Mark { kNone, kThere, kUnknown };  // kUnknown: the place cannot be looked at
Mark look_for_mark(const std::string& directory, const std::string& job);
void unmark_job(const std::string& directory, const std::string& job);

}  // namespace stage_model::spank
