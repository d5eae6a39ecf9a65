#include "engine/launch/assemble.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "engine/base/text.h"
#include "engine/launch/node_addresses.h"

namespace stage_model::launch {
namespace {

tl::unexpected<Error> usage(std::string message) {
  return fail(ExitCode::kUsage, std::move(message));
}

Result<std::vector<Node>> nodes_of(const Options& options) {
  if (options.nodes_file.empty()) return parse_nodes(options.nodes);
  std::ifstream file(options.nodes_file);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return usage(fmt::format("--nodes-file {}: not readable", options.nodes_file));
  return parse_nodes(text.str());
}

// The place of this machine's host name in the list; short and full names are the same.
Result<std::uint32_t> own_index(const std::vector<Node>& nodes) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const auto short_name = [](const std::string& name) { return name.substr(0, name.find('.')); };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (short_name(nodes[i].name) == short_name(host.data())) return static_cast<std::uint32_t>(i);
  }
  return usage(fmt::format("host {} is not among the nodes; give --index", host.data()));
}

Result<std::vector<std::string>> take_credentials(const std::vector<std::string>& names) {
  std::vector<std::string> credentials;
  for (const std::string& name : names) {
    char* value = std::getenv(name.c_str());
    if (value == nullptr) return usage(fmt::format("--credential-env {}: no such variable", name));
    credentials.push_back(name + "=" + value);
    explicit_bzero(value, std::strlen(value));
    unsetenv(name.c_str());
  }
  return credentials;
}

Result<LaunchOrder> order_by_hand(const Options& options) {
  LaunchOrder order;
  order.job = options.job;
  if (!valid_job(order.job)) {
    return usage(
        "--job NAME is needed: 1 to 64 letters, digits, '.', '_' or '-', the same on all nodes");
  }
  Result<std::vector<Node>> nodes = nodes_of(options);
  if (!nodes) return tl::unexpected(nodes.error());
  order.nodes = std::move(*nodes);
  if (options.index >= 0) {
    if (static_cast<std::uint64_t>(options.index) >= order.nodes.size()) {
      return usage(fmt::format("--index {} is not below the number of nodes, {}", options.index,
                               order.nodes.size()));
    }
    order.index = static_cast<std::uint32_t>(options.index);
  } else {
    const Result<std::uint32_t> index = own_index(order.nodes);
    if (!index) return tl::unexpected(index.error());
    order.index = *index;
  }
  order.uid = options.uid >= 0 ? static_cast<uid_t>(options.uid) : geteuid();
  order.gid = options.gid >= 0 ? static_cast<gid_t>(options.gid) : getegid();
  if (options.uid > 0 && options.gid < 0) return usage("--uid needs --gid");
  order.user = options.user;
  order.root = options.root;
  if (!options.root.empty()) {
    const std::string user = options.user.empty() ? std::to_string(order.uid) : options.user;
    if (user.find('/') != std::string::npos) return usage("--user must not contain a slash");
    order.user_root = options.root + "/" + user;
  }
  order.record_dir = options.record_dir;
  while (order.record_dir.size() > 1 && order.record_dir.back() == '/') {
    order.record_dir.pop_back();
  }
  if (!order.record_dir.empty()) {
    // By hand nobody else makes it. Where it cannot be made, the outcome still is what it is.
    mkdir(order.record_dir.c_str(), S_IRWXU);
  }
  if (options.engine_arguments.empty()) {
    return usage("nothing to do: give the engine's arguments after --");
  }
  order.runs.push_back({"", "", options.engine_arguments});
  Result<std::vector<std::string>> credentials = take_credentials(options.credential_names);
  if (!credentials) return tl::unexpected(credentials.error());
  order.credentials = std::move(*credentials);
  return order;
}

}  // namespace

Result<Config> assemble_config(const Options& options) {
  Config config;
  if (!options.no_config) {
    const std::string path = options.config.empty() ? default_config_path() : options.config;
    if (!options.config.empty() || access(path.c_str(), F_OK) == 0) {
      Result<Config> loaded = load_config(path);
      if (!loaded) return loaded;
      config = std::move(*loaded);
    }
  }
  if (!options.key_file.empty()) config.key_file = options.key_file;
  return config;
}

Result<LaunchOrder> assemble_order(const Options& options) {
  Result<LaunchOrder> order =
      options.request.empty() ? order_by_hand(options) : load_order(options.request);
  if (!order) return order;
  if (const Status status = check_order(*order); !status) return tl::unexpected(status.error());
  if (geteuid() != 0 && order->uid != geteuid()) {
    return usage(fmt::format("cannot run the engine as uid {} without being root", order->uid));
  }
  return order;
}

Result<std::vector<Node>> parse_nodes(const std::string& text) {
  std::vector<Node> nodes;
  std::set<std::string> names;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    line = line.substr(0, line.find('#'));
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line);
    std::string word;
    while (words >> word) {
      const std::size_t equals = word.find('=');
      Node node{word.substr(0, equals), equals == std::string::npos ? "" : word.substr(equals + 1)};
      if (node.name.empty()) return usage(fmt::format("\"{}\": a node needs a name", word));
      if (!node.address.empty()) {
        if (const auto address = parse_address(node.address); !address) {
          return tl::unexpected(address.error());
        }
      }
      if (!names.insert(node.name).second) {
        return usage(
            fmt::format("node {} is there twice; the engine runs once per node", node.name));
      }
      nodes.push_back(std::move(node));
    }
  }
  if (nodes.empty()) return usage("no nodes: give --nodes or --nodes-file");
  return nodes;
}

Result<std::string> find_engine(const std::string& name) {
  std::vector<std::string> places;
  if (name.find('/') != std::string::npos) {
    std::error_code error;
    places.push_back(std::filesystem::absolute(name, error));
  } else {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) places.push_back(self.parent_path() / name);
    for (const char* directory : {"/usr/local/bin/", "/usr/bin/", "/bin/"}) {
      places.push_back(directory + name);
    }
  }
  for (const std::string& place : places) {
    if (access(place.c_str(), X_OK) == 0) return place;
  }
  return usage(fmt::format("engine {} not found ({}); set [paths] engine in stage_model.toml", name,
                           places.front()));
}

}  // namespace stage_model::launch
