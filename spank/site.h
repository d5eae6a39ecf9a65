// The plugin's own arguments (in plugstack.conf) and the configuration file they lead to.
#pragma once

#include <string>
#include <vector>

#include "stage_model/config.h"
#include "stage_model/request.h"
#include "stage_model/result.h"

namespace stage_model::spank {

struct PluginArguments {
  std::string config_path;           // config=PATH, else the default
  std::string jobs_dir;              // marks of staged jobs (marker.h); fixed, but for tests
  bool prolog = true;                // prolog=off: the site's own scripts stage
  std::vector<std::string> unknown;  // said once, by slurmd when it starts
};
PluginArguments parse_arguments(int count, char** values);

// At submit: a file that is not there, or that this user may not read, is no obstacle; a broken one
// is an error.
Result<Site> site_at_submit(const PluginArguments& arguments);

// On a node the file must be there.
Result<Config> config_on_node(const PluginArguments& arguments);

}  // namespace stage_model::spank
