#include "stage_model/request.h"

#include <set>

#include "engine/base/text.h"
#include "engine/contract/secure_file.h"
#include "engine/contract/toml_reader.h"
#include "engine/contract/toml_writer.h"

namespace stage_model {
namespace {

constexpr std::size_t kMaxRequestBytes = 16 << 20;
constexpr char kFile[] = "request";  // stands for the file in messages

void check(TomlReader& reader, const Request& request) {
  if (!valid_job(request.job)) reader.reject("job", "is not of the form [A-Za-z0-9._-]{1,64}");
  if (request.nodes.empty()) reader.reject("nodes", "is empty");
  if (request.index >= request.nodes.size()) reader.reject("index", "is not below nodes' number");
  if (request.runs.empty()) reader.reject("runs", "is empty");
  for (const std::string& item : request.credentials) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || !valid_variable_name(item.substr(0, equals))) {
      reader.reject("credentials", "an item is not of the form NAME=VALUE");
    }
  }
  for (const auto& [key, path] :
       {std::pair("user_root", &request.user_root), std::pair("root", &request.root),
        std::pair("record_dir", &request.record_dir)}) {
    if (!path->empty() && !normal_absolute_path(*path)) {
      reader.reject(key, "is not an absolute path without \"..\" and doubled slashes");
    }
  }
  std::set<std::string_view> names;
  for (const Node& node : request.nodes) {
    if (node.name.empty() || node.name.size() > 255 || has_control(node.name)) {
      reader.reject("nodes", "a name is empty, too long or not readable");
    } else if (!names.insert(node.name).second) {
      reader.reject("nodes", quote(node.name) + " is there twice");
    }
  }
}

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

std::string write_request(const Request& request) {
  std::string out = "format = " + std::to_string(Request::kFormat) + "\n";
  const auto text = [&out](const char* key, const std::string& value) {
    out += std::string(key) + " = " + toml_text(value) + "\n";
  };
  const auto number = [&out](const char* key, std::uint64_t value) {
    out += std::string(key) + " = " + std::to_string(value) + "\n";
  };
  text("job", request.job);
  number("index", request.index);
  number("uid", request.uid);
  number("gid", request.gid);
  text("user", request.user);
  text("user_root", request.user_root);
  text("root", request.root);
  text("record_dir", request.record_dir);
  // Thousandths, so that no locale can write the point as a comma.
  number("deadline_ms", static_cast<std::uint64_t>(request.deadline_s * 1000));
  out += "credentials = " + toml_list(request.credentials) + "\n";
  for (const Node& node : request.nodes) {
    out += "\n[[nodes]]\n";
    text("name", node.name);
    if (!node.address.empty()) text("address", node.address);
  }
  for (const ModelRequest& run : request.runs) {
    out += "\n[[runs]]\n";
    text("name", run.name);
    text("directory", run.directory);
    out += "arguments = " + toml_list(run.arguments) + "\n";
  }
  return out;
}

Result<Request> parse_request(const std::string& text) {
  if (text.size() > kMaxRequestBytes) return fail(ExitCode::kUsage, "request: is too large");
  const auto table = parse_toml(text, kFile, ExitCode::kUsage);
  if (!table) return tl::unexpected<Error>(table.error());
  Request request;
  TomlReader reader(*table, kFile, "", ExitCode::kUsage);
  for (const char* key : {"format", "job", "index", "uid", "gid", "nodes", "runs"}) {
    reader.require(key);
  }
  std::int64_t format = 0;
  reader.read_integer("format", 1, INT32_MAX, format);
  if (format != Request::kFormat) {
    reader.reject("format", "is " + std::to_string(format) + ", this program knows " +
                                std::to_string(Request::kFormat) +
                                ": plugin and launcher are of different versions");
  }
  reader.read("job", request.job);
  reader.read_integer("index", 0, INT32_MAX, request.index);
  reader.read_integer("uid", 0, UINT32_MAX - 1, request.uid);
  reader.read_integer("gid", 0, UINT32_MAX - 1, request.gid);
  reader.read("user", request.user);
  reader.read("user_root", request.user_root);
  reader.read("root", request.root);
  reader.read("record_dir", request.record_dir);
  std::int64_t deadline_ms = 0;
  reader.read_integer("deadline_ms", 0, INT64_C(1) << 40, deadline_ms);
  request.deadline_s = static_cast<double>(deadline_ms) / 1000;
  reader.read("credentials", request.credentials);
  read_tables(reader, "nodes", [&](TomlReader& part) {
    Node node;
    part.require("name");
    part.read("name", node.name);
    part.read("address", node.address);
    request.nodes.push_back(std::move(node));
  });
  read_tables(reader, "runs", [&](TomlReader& part) {
    ModelRequest run;
    part.require("arguments");
    part.read("name", run.name);
    part.read("directory", run.directory);
    part.read("arguments", run.arguments);
    request.runs.push_back(std::move(run));
  });
  check(reader, request);
  if (const Status status = reader.finish(); !status) return tl::unexpected<Error>(status.error());
  return request;
}

Result<Request> load_request(const std::string& path) {
  const auto file = read_trusted_file(path, kMaxRequestBytes, /*follow=*/false, ExitCode::kUsage);
  if (!file) return tl::unexpected<Error>(file.error());
  if (!file->found) return fail(ExitCode::kUsage, path + ": no such file");
  auto request = parse_request(file->text);
  if (!request) return fail(request.error().code, path + ": " + request.error().message);
  return request;
}

}  // namespace stage_model
