#include "spank/site.h"

#include <unistd.h>

#include <string_view>

namespace stage_model::spank {

PluginArguments parse_arguments(int count, char** values) {
  PluginArguments arguments;
  for (int i = 0; i < count; ++i) {
    constexpr std::string_view kConfig = "config=";
    const std::string_view text = values[i] != nullptr ? values[i] : "";
    if (text.substr(0, kConfig.size()) == kConfig && text.size() > kConfig.size()) {
      arguments.config_path = text.substr(kConfig.size());
    } else if (text == "prolog=off") {
      arguments.prolog = false;
    } else {
      arguments.unknown.emplace_back(text);
    }
  }
  arguments.jobs_dir = Config{}.state_dir;
  if (arguments.config_path.empty()) arguments.config_path = default_config_path();
  return arguments;
}

Result<Site> site_at_submit(const PluginArguments& arguments) {
  if (::access(arguments.config_path.c_str(), R_OK) != 0) return Site{Config{}, false};
  auto config = load_config(arguments.config_path);
  if (!config) return tl::unexpected<Error>(config.error());
  return Site{std::move(*config), true};
}

Result<Config> config_on_node(const PluginArguments& arguments) {
  return load_config(arguments.config_path);
}

}  // namespace stage_model::spank
