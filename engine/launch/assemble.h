// Puts together what the launcher needs from options, environment and files.
#pragma once

#include "engine/launch/options.h"
#include "stage_model/config.h"
#include "stage_model/launch_order.h"
#include "stage_model/result.h"

namespace stage_model::launch {

// The file that --config names, else the default one where it exists, else the defaults.
Result<Config> assemble_config(const Options& options);

// From --request, else from the other options. Checks what the file's parser cannot know: ids that
// this process may take on. The values of --credential-env are blanked in the environment: they
// would show in /proc/PID/environ. Errors: kUsage.
Result<LaunchOrder> assemble_order(const Options& options);

// "a,b=10.0.0.1" or one per line with # comments. Errors: kUsage.
Result<std::vector<Node>> parse_nodes(const std::string& text);

// Absolute path of the engine: as given if absolute, else beside this program, else in PATH's
// usual places. Errors: kUsage.
Result<std::string> find_engine(const std::string& name);

}  // namespace stage_model::launch
