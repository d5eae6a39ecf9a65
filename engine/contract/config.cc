#include "stage_model/config.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "engine/base/text.h"
#include "engine/contract/secure_file.h"
#include "engine/contract/toml_reader.h"

namespace stage_model {
namespace {

constexpr std::size_t kMaxConfigBytes = 1 << 20;
constexpr double kDay = 86400;

// "24600-24855" or [24600, 24855].
void read_ports(TomlReader& reader, std::string_view key, PortRange& out) {
  const toml::node* node = reader.find(key);
  if (node == nullptr) return;
  std::int64_t first = 0;
  std::int64_t last = 0;
  if (const auto text = node->value_exact<std::string>()) {
    const char* const end = text->data() + text->size();
    const auto low = std::from_chars(text->data(), end, first);
    const bool dash = low.ec == std::errc() && low.ptr != end && *low.ptr == '-';
    const auto high = dash ? std::from_chars(low.ptr + 1, end, last) : low;
    if (!dash || high.ec != std::errc() || high.ptr != end) first = 0;
  } else if (const toml::array* pair = node->as_array(); pair != nullptr && pair->size() == 2) {
    first = pair->get(0)->value_exact<std::int64_t>().value_or(0);
    last = pair->get(1)->value_exact<std::int64_t>().value_or(0);
  }
  if (first < 1 || last > 65535 || first > last) {
    reader.reject(key, "must be a range of ports like \"24600-24855\"");
    return;
  }
  out.first = static_cast<std::uint16_t>(first);
  out.last = static_cast<std::uint16_t>(last);
}

void need_path(TomlReader& reader, std::string_view key, const std::string& path) {
  if (!normal_absolute_path(path) || path == "/") {
    reader.reject(key, quote(path) + " is not an absolute path without \"..\" and doubled slashes");
  }
}

// A program is an absolute path, or a bare name that is looked for where programs are installed.
void need_program(TomlReader& reader, std::string_view key, const std::string& program) {
  if (program.find('/') == std::string::npos && !program.empty() && !has_control(program)) return;
  need_path(reader, key, program);
}

Status read_paths(const toml::table& table, const std::string& file, Config& config) {
  TomlReader reader(table, file, "paths", ExitCode::kUsage);
  reader.read("roots", config.roots);
  reader.read("state_dir", config.state_dir);
  reader.read("launcher", config.launcher);
  reader.read("engine", config.engine);
  if (config.roots.empty()) reader.reject("roots", "must name at least one directory");
  for (const std::string& root : config.roots) need_path(reader, "roots", root);
  need_path(reader, "state_dir", config.state_dir);
  need_program(reader, "launcher", config.launcher);
  need_program(reader, "engine", config.engine);
  return reader.finish();
}

Status read_limits(const toml::table& table, const std::string& file, Config& config) {
  TomlReader reader(table, file, "limits", ExitCode::kUsage);
  reader.read_seconds("deadline_s", 1, 7 * kDay, config.deadline_s);
  reader.read_seconds("rendezvous_timeout_s", 1, kDay, config.rendezvous_timeout_s);
  reader.read_seconds("heartbeat_timeout_s", 1, 600, config.heartbeat_timeout_s);
  reader.read_seconds("engine_start_timeout_s", 1, kDay, config.engine_start_timeout_s);
  reader.read_seconds("stall_timeout_s", 5, kDay, config.stall_timeout_s);
  reader.read_seconds("kill_wait_s", 0.1, 600, config.kill_wait_s);
  reader.read_integer("max_models", 1, 64, config.max_models);
  reader.read_integer("max_nodes", 1, 65536, config.max_nodes);
  return reader.finish();
}

Status read_port_ranges(const toml::table& table, const std::string& file, Config& config) {
  TomlReader reader(table, file, "ports", ExitCode::kUsage);
  read_ports(reader, "launcher_ports", config.launcher_ports);
  read_ports(reader, "mpi_ports", config.mpi_ports);
  return reader.finish();
}

Status read_network(const toml::table& table, const std::string& file, Config& config) {
  TomlReader reader(table, file, "network", ExitCode::kUsage);
  reader.read("interfaces", config.interfaces);
  if (has_control(config.interfaces)) reader.reject("interfaces", "contains control characters");
  reader.read("addresses", config.addresses);
  return reader.finish();
}

Status read_source(const toml::table& table, const std::string& file, Config& config) {
  TomlReader reader(table, file, "source", ExitCode::kUsage);
  reader.read("schemes", config.schemes);
  if (config.schemes.empty()) reader.reject("schemes", "must allow at least one scheme");
  for (const std::string& scheme : config.schemes) {
    const bool valid = !scheme.empty() && std::all_of(scheme.begin(), scheme.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    });
    if (!valid) reader.reject("schemes", quote(scheme) + " is not a scheme, like az or https");
  }
  reader.read("credentials", config.credentials);
  for (const std::string& name : config.credentials) {
    if (!valid_variable_name(name)) {
      reader.reject("credentials", quote(name) + " is not the name of a variable");
    }
  }
  return reader.finish();
}

Status read_engine(const toml::table& table, const std::string& file, Config& config) {
  TomlReader reader(table, file, "engine", ExitCode::kUsage);
  reader.read("options", config.options);
  reader.read("environment", config.environment);
  for (const auto& [name, value] : config.environment) {
    if (!valid_variable_name(name)) {
      reader.reject("environment", quote(name) + " is not the name of a variable");
    }
  }
  return reader.finish();
}

Status read_policy(const toml::table& table, const std::string& file, Config& config) {
  TomlReader reader(table, file, "policy", ExitCode::kUsage);
  std::string keep = "always";
  std::string node_fault = "report";
  reader.read("keep", keep);
  reader.read("node_fault", node_fault);
  if (keep != "always" && keep != "job") {
    reader.reject("keep", quote(keep) + " is neither \"always\" nor \"job\"");
  }
  if (node_fault != "report" && node_fault != "drain") {
    reader.reject("node_fault", quote(node_fault) + " is neither \"report\" nor \"drain\"");
  }
  config.keep = keep == "job" ? Keep::kJob : Keep::kAlways;
  config.node_fault = node_fault == "drain" ? NodeFault::kDrain : NodeFault::kReport;
  reader.read_seconds("partial_keep_s", 0, 3650 * kDay, config.partial_keep_s);
  return reader.finish();
}

Status read_auth(const toml::table& table, const std::string& file, Config& config) {
  TomlReader reader(table, file, "auth", ExitCode::kUsage);
  reader.read("key_file", config.key_file);
  reader.read("munge_socket", config.munge_socket);
  if (!config.key_file.empty()) need_path(reader, "key_file", config.key_file);
  if (!config.munge_socket.empty()) need_path(reader, "munge_socket", config.munge_socket);
  return reader.finish();
}

}  // namespace

Result<Config> parse_config(const std::string& text, const std::string& name) {
  using ReadSection = Status (*)(const toml::table&, const std::string&, Config&);
  static constexpr std::pair<std::string_view, ReadSection> kSections[] = {
      {"paths", read_paths},     {"limits", read_limits}, {"ports", read_port_ranges},
      {"network", read_network}, {"source", read_source}, {"engine", read_engine},
      {"policy", read_policy},   {"auth", read_auth},
  };
  const auto table = parse_toml(text, name, ExitCode::kUsage);
  if (!table) return tl::unexpected<Error>(table.error());
  Config config;
  TomlReader reader(*table, name, "", ExitCode::kUsage);
  for (const auto& [section, read] : kSections) {
    if (const toml::table* part = reader.table(section)) {
      if (const Status status = read(*part, name, config); !status) reader.reject(status.error());
    }
  }
  if (const Status status = reader.finish(); !status) return tl::unexpected<Error>(status.error());
  return config;
}

Result<Config> load_config(const std::string& path) {
  const auto file = read_trusted_file(path, kMaxConfigBytes, /*follow=*/true, ExitCode::kUsage);
  if (!file) return tl::unexpected<Error>(file.error());
  if (!file->found) return fail(ExitCode::kUsage, path + ": no such file");
  return parse_config(file->text, path);
}

double needed_slurm_limit(const Config& config) {
  constexpr double kMargin = 30;
  return config.deadline_s + kMargin;
}

std::string default_config_path() {
  constexpr char kName[] = "stage_model.toml";
  if (const char* slurm_conf = std::getenv("SLURM_CONF"); slurm_conf != nullptr) {
    const std::string path = slurm_conf;
    if (const std::size_t slash = path.rfind('/'); slash != std::string::npos) {
      return path.substr(0, slash + 1) + kName;
    }
  }
  return std::string("/etc/slurm/") + kName;
}

}  // namespace stage_model
