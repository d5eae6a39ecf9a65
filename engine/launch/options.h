// The command line of stage-launch.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "stage_model/result.h"

namespace stage_model::launch {

struct Options {
  bool check = false;
  bool verbose = false;
  bool no_config = false;
  std::string config;   // "" : the default path, if there is a file
  std::string request;  // "" : by hand, from what follows
  std::string job;
  std::int64_t index = -1;  // -1: not given
  std::string nodes;
  std::string nodes_file;
  std::string key_file;
  std::int64_t uid = -1;
  std::int64_t gid = -1;
  std::string user;
  std::string root;
  std::string record_dir;
  std::string engine;
  std::vector<std::string> credential_names;
  std::vector<std::string> engine_arguments;  // after "--"
  // Not in --help; for tests of the tree with few nodes.
  std::uint32_t star_limit = 0;  // 0: the default
  std::uint32_t fan_out = 0;
};

// Errors: kUsage; an empty message means that help or version was asked for and printed.
Result<Options> parse_options(int argc, const char* const* argv);

}  // namespace stage_model::launch
