#include "engine/launch/engine_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace stage_model::launch {
namespace {

bool names(const std::vector<std::string>& arguments, std::string_view option) {
  return std::any_of(arguments.begin(), arguments.end(), [option](std::string_view argument) {
    return argument.substr(0, argument.find('=')) == option;
  });
}

}  // namespace

std::vector<std::string> engine_arguments(const Config& config, const EngineCommand& run) {
  constexpr std::string_view kPartialKeep = "--partial-keep";
  std::vector<std::string> arguments;
  if (!names(config.options, kPartialKeep) && !names(run.arguments, kPartialKeep)) {
    // Whole numbers: an exponent would be no duration.
    const long long ms = std::llround(config.partial_keep_s * 1000);
    const bool whole = ms % 1000 == 0;
    arguments.push_back(
        fmt::format("{}={}{}", kPartialKeep, whole ? ms / 1000 : ms, whole ? "s" : "ms"));
  }
  arguments.insert(arguments.end(), config.options.begin(), config.options.end());
  arguments.insert(arguments.end(), run.arguments.begin(), run.arguments.end());
  if (!run.directory.empty() && !run.arguments.empty()) {  // SOURCE DEST, then what else there is
    arguments.insert(arguments.end() - static_cast<std::ptrdiff_t>(run.arguments.size()) + 1,
                     run.directory);
  }
  return arguments;
}

}  // namespace stage_model::launch
