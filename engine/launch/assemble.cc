#include "engine/launch/assemble.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "engine/launch/node_addresses.h"

namespace stage_model::launch {
namespace {

constexpr std::size_t kMaxJob = 64;
constexpr std::size_t kMaxNodes = 65536;

tl::unexpected<Error> usage(std::string message) {
  return fail(ExitCode::kUsage, std::move(message));
}

bool is_job_name(const std::string& job) {
  return !job.empty() && job.size() <= kMaxJob && std::all_of(job.begin(), job.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  });
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

Result<Request> request_by_hand(const Options& options) {
  Request request;
  request.job = options.job;
  if (!is_job_name(request.job)) {
    return usage(
        "--job NAME is needed: 1 to 64 letters, digits, '.', '_' or '-', the same on all nodes");
  }
  Result<std::vector<Node>> nodes = nodes_of(options);
  if (!nodes) return tl::unexpected(nodes.error());
  request.nodes = std::move(*nodes);
  if (options.index >= 0) {
    if (static_cast<std::uint64_t>(options.index) >= request.nodes.size()) {
      return usage(fmt::format("--index {} is not below the number of nodes, {}", options.index,
                               request.nodes.size()));
    }
    request.index = static_cast<std::uint32_t>(options.index);
  } else {
    const Result<std::uint32_t> index = own_index(request.nodes);
    if (!index) return tl::unexpected(index.error());
    request.index = *index;
  }
  request.uid = options.uid >= 0 ? static_cast<uid_t>(options.uid) : geteuid();
  request.gid = options.gid >= 0 ? static_cast<gid_t>(options.gid) : getegid();
  if (options.uid > 0 && options.gid < 0) return usage("--uid needs --gid");
  request.user = options.user;
  request.root = options.root;
  if (!options.root.empty()) {
    const std::string user = options.user.empty() ? std::to_string(request.uid) : options.user;
    if (user.find('/') != std::string::npos) return usage("--user must not contain a slash");
    request.user_root = options.root + "/" + user;
  }
  request.record_dir = options.record_dir;
  while (request.record_dir.size() > 1 && request.record_dir.back() == '/') {
    request.record_dir.pop_back();
  }
  if (!request.record_dir.empty()) {
    // By hand nobody else makes it. Where it cannot be made, the outcome still is what it is.
    mkdir(request.record_dir.c_str(), S_IRWXU);
  }
  if (options.engine_arguments.empty()) {
    return usage("nothing to do: give the engine's arguments after --");
  }
  request.runs.push_back({"", "", options.engine_arguments});
  Result<std::vector<std::string>> credentials = take_credentials(options.credential_names);
  if (!credentials) return tl::unexpected(credentials.error());
  request.credentials = std::move(*credentials);
  return request;
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

Result<Request> assemble_request(const Options& options) {
  Result<Request> request =
      options.request.empty() ? request_by_hand(options) : load_request(options.request);
  if (!request) return request;
  if (request->index >= request->nodes.size())
    return usage("the request's index is not below its number of nodes");
  if (request->runs.empty()) return usage("the request names no model");
  if (geteuid() != 0 && request->uid != geteuid()) {
    return usage(fmt::format("cannot run the engine as uid {} without being root", request->uid));
  }
  return request;
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
  if (nodes.size() > kMaxNodes) return usage(fmt::format("more than {} nodes", kMaxNodes));
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
