#include "stage_model/launch_order.h"

#include <set>

#include "engine/base/text.h"
#include "engine/contract/secure_file.h"
#include "engine/contract/toml_reader.h"
#include "engine/contract/toml_writer.h"

namespace stage_model {
namespace {

constexpr std::size_t kMaxOrderBytes = 16 << 20;
constexpr std::size_t kMaxNodes = 65536;
constexpr char kFile[] = "order";  // stands for the file in messages

// Arrays of tables: [[nodes]], [[runs]].
template <class ReadOne>
void read_tables(TomlReader& reader, std::string_view key, ReadOne read_one) {
  const toml::array* items = reader.array(key);
  if (items == nullptr) return;
  for (const toml::node& item : *items) {
    const toml::table* table = item.as_table();
    if (table == nullptr) return reader.reject(key, "must be an array of tables");
    TomlReader part(*table, kFile, std::string(key), ExitCode::kUsage);
    read_one(part);
    if (const Status status = part.finish(); !status) return reader.reject(status.error());
  }
}

}  // namespace

Status check_order(const LaunchOrder& order) {
  const auto wrong = [](const std::string& field, const std::string& why) {
    return fail(ExitCode::kUsage, field + ": " + why);
  };
  if (!valid_job(order.job)) return wrong("job", "is not of the form [A-Za-z0-9._-]{1,64}");
  if (order.nodes.empty()) return wrong("nodes", "is empty");
  if (order.nodes.size() > kMaxNodes) {
    return wrong("nodes", "are more than " + std::to_string(kMaxNodes));
  }
  if (order.index >= order.nodes.size()) return wrong("index", "is not below nodes' number");
  if (order.runs.empty()) return wrong("runs", "is empty");
  for (const EngineCommand& run : order.runs) {
    if (run.arguments.empty()) return wrong("runs", "one has no arguments");
  }
  for (const std::string& item : order.credentials) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || !valid_variable_name(item.substr(0, equals))) {
      return wrong("credentials", "an item is not of the form NAME=VALUE");
    }
  }
  for (const auto& [key, path] :
       {std::pair("user_root", &order.user_root), std::pair("root", &order.root),
        std::pair("record_dir", &order.record_dir)}) {
    if (!path->empty() && !normal_absolute_path(*path)) {
      return wrong(key, "is not an absolute path without \"..\" and doubled slashes");
    }
  }
  std::set<std::string_view> names;
  for (const Node& node : order.nodes) {
    if (node.name.empty() || node.name.size() > 255 || has_control(node.name)) {
      return wrong("nodes", "a name is empty, too long or not readable");
    }
    if (!names.insert(node.name).second)
      return wrong("nodes", quote(node.name) + " is there twice");
  }
  return {};
}

std::string write_order(const LaunchOrder& order) {
  std::string out = "format = " + std::to_string(LaunchOrder::kFormat) + "\n";
  const auto text = [&out](const char* key, const std::string& value) {
    out += std::string(key) + " = " + toml_text(value) + "\n";
  };
  const auto number = [&out](const char* key, std::uint64_t value) {
    out += std::string(key) + " = " + std::to_string(value) + "\n";
  };
  text("job", order.job);
  number("index", order.index);
  number("uid", order.uid);
  number("gid", order.gid);
  text("user", order.user);
  text("user_root", order.user_root);
  text("root", order.root);
  text("record_dir", order.record_dir);
  // Thousandths, so that no locale can write the point as a comma.
  number("deadline_ms", static_cast<std::uint64_t>(order.deadline_s * 1000));
  out += "credentials = " + toml_list(order.credentials) + "\n";
  for (const Node& node : order.nodes) {
    out += "\n[[nodes]]\n";
    text("name", node.name);
    if (!node.address.empty()) text("address", node.address);
  }
  for (const EngineCommand& run : order.runs) {
    out += "\n[[runs]]\n";
    text("name", run.name);
    text("directory", run.directory);
    out += "arguments = " + toml_list(run.arguments) + "\n";
  }
  return out;
}

Result<LaunchOrder> parse_order(const std::string& text) {
  if (text.size() > kMaxOrderBytes) return fail(ExitCode::kUsage, "the order is too large");
  const auto table = parse_toml(text, kFile, ExitCode::kUsage);
  if (!table) return tl::unexpected<Error>(table.error());
  LaunchOrder order;
  TomlReader reader(*table, kFile, "", ExitCode::kUsage);
  for (const char* key : {"format", "job", "index", "uid", "gid", "nodes", "runs"}) {
    reader.require(key);
  }
  std::int64_t format = 0;
  reader.read_integer("format", 1, INT32_MAX, format);
  if (format != LaunchOrder::kFormat) {
    reader.reject("format", "is " + std::to_string(format) + ", this program knows " +
                                std::to_string(LaunchOrder::kFormat) +
                                ": plugin and launcher are of different versions");
  }
  reader.read("job", order.job);
  reader.read_integer("index", 0, INT32_MAX, order.index);
  reader.read_integer("uid", 0, UINT32_MAX - 1, order.uid);
  reader.read_integer("gid", 0, UINT32_MAX - 1, order.gid);
  reader.read("user", order.user);
  reader.read("user_root", order.user_root);
  reader.read("root", order.root);
  reader.read("record_dir", order.record_dir);
  std::int64_t deadline_ms = 0;
  reader.read_integer("deadline_ms", 0, INT64_C(1) << 40, deadline_ms);
  order.deadline_s = static_cast<double>(deadline_ms) / 1000;
  reader.read("credentials", order.credentials);
  read_tables(reader, "nodes", [&](TomlReader& part) {
    Node node;
    part.require("name");
    part.read("name", node.name);
    part.read("address", node.address);
    order.nodes.push_back(std::move(node));
  });
  read_tables(reader, "runs", [&](TomlReader& part) {
    EngineCommand run;
    part.require("arguments");
    part.read("name", run.name);
    part.read("directory", run.directory);
    part.read("arguments", run.arguments);
    order.runs.push_back(std::move(run));
  });
  if (const Status status = reader.finish(); !status) return tl::unexpected<Error>(status.error());
  if (const Status status = check_order(order); !status) {
    return fail(status.error().code, std::string(kFile) + ": " + status.error().message);
  }
  return order;
}

Result<LaunchOrder> load_order(const std::string& path) {
  const auto file = read_trusted_file(path, kMaxOrderBytes, /*follow=*/false, ExitCode::kUsage);
  if (!file) return tl::unexpected<Error>(file.error());
  if (!file->found) return fail(ExitCode::kUsage, path + ": no such file");
  auto order = parse_order(file->text);
  if (!order) return fail(order.error().code, path + ": " + order.error().message);
  return order;
}

}  // namespace stage_model
