// Where each model goes, and the engine's command line for it. Pure.
#pragma once

#include <string>
#include <vector>

#include "stage_model/config.h"
#include "stage_model/launch_order.h"
#include "stage_model/request.h"
#include "stage_model/result.h"

namespace stage_model::spank {

struct Destinations {
  std::string root;       // the configured root that all of them lie below
  std::string user_root;  // ROOT/USER, to be made for the user; "" where nothing goes there
  std::vector<EngineCommand> runs;  // in the order of the flags
};

// `user` is a directory name. Errors: kUsage.
Result<Destinations> plan_destinations(const JobRequest& request, const Config& config,
                                       const std::string& user);

// The directory name for a model where the user named none: <last part of the URL>-<8 hex digits>.
// Same URL and same filters, same name.
std::string default_name(const JobRequest& request, const ModelRequest& model);

}  // namespace stage_model::spank
