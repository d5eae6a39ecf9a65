#include "engine/store/manifest.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "engine/store/names.h"

namespace stage_model::store {
namespace {

namespace json = simdjson::dom;

tl::unexpected<Error> invalid(std::string_view what) {
  return fail(ExitCode::kDestination, fmt::format("manifest is not valid: {}", what));
}

bool parse_hex64(std::string_view text, std::uint64_t* value) {
  *value = 0;
  for (const char c : text) {
    const bool number = c >= '0' && c <= '9';
    if (!number && (c < 'a' || c > 'f')) return false;
    *value = *value << 4 | static_cast<std::uint64_t>(number ? c - '0' : c - 'a' + 10);
  }
  return true;
}

bool parse_digest(std::string_view text, Digest* digest) {
  return text.size() == 32 && parse_hex64(text.substr(0, 16), &digest->high) &&
         parse_hex64(text.substr(16), &digest->low);
}

bool read_string(const json::element& element, std::string* out) {
  std::string_view text;
  return element.get(text) == simdjson::SUCCESS && decode_name(text, out);
}

// [[length, "digest"], …] with lengths > 0 that add up to `size`.
bool read_extents(const json::element& element, std::uint64_t size,
                  std::vector<ProvenExtent>* out) {
  json::array list;
  if (element.get(list) != simdjson::SUCCESS) return false;
  std::uint64_t offset = 0;
  for (const json::element item : list) {
    json::array pair;
    ProvenExtent extent;
    std::string_view hex;
    if (item.get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
        pair.at(0).get(extent.length) != simdjson::SUCCESS ||
        pair.at(1).get(hex) != simdjson::SUCCESS || !parse_digest(hex, &extent.digest)) {
      return false;
    }
    if (extent.length == 0 || extent.length > size - offset) return false;
    extent.offset = offset;
    offset += extent.length;
    out->push_back(extent);
  }
  return offset == size;
}

Result<Manifest::File> read_file_entry(const json::element& element) {
  json::object fields;
  if (element.get(fields) != simdjson::SUCCESS) return invalid("an entry is no object");
  Manifest::File file;
  json::element extents;
  std::set<std::string_view> seen;
  for (const auto [key, value] : fields) {
    bool good = seen.insert(key).second;
    if (key == "name") {
      good = good && read_string(value, &file.name);
    } else if (key == "size") {
      good = good && value.get(file.size) == simdjson::SUCCESS;
    } else if (key == "etag") {
      good = good && read_string(value, &file.etag);
    } else if (key == "modified_ns") {
      good = good && value.get(file.modified_ns) == simdjson::SUCCESS;
    } else if (key == "inode") {
      good = good && value.get(file.inode) == simdjson::SUCCESS;
    } else if (key == "extents") {
      extents = value;
    } else {
      good = false;
    }
    if (!good) return invalid(fmt::format("key \"{}\" of an entry", encode_name(key)));
  }
  if (seen.size() != 6) return invalid("an entry lacks a key");
  if (!safe_name(file.name)) {
    return invalid(fmt::format("the name \"{}\"", encode_name(file.name)));
  }
  if (!read_extents(extents, file.size, &file.extents)) {
    return invalid(fmt::format("the extents of \"{}\"", encode_name(file.name)));
  }
  return file;
}

Status read_files(const json::element& element, Manifest* manifest) {
  json::array list;
  if (element.get(list) != simdjson::SUCCESS) return invalid("\"objects\" is no list");
  for (const json::element item : list) {
    auto file = read_file_entry(item);
    if (!file) return tl::unexpected(file.error());
    if (!manifest->files.empty() && manifest->files.back().name >= file->name) {
      return invalid("\"objects\" is not sorted");
    }
    manifest->files.push_back(std::move(*file));
  }
  return {};
}

Status read_directories(const json::element& element, Manifest* manifest) {
  json::array list;
  if (element.get(list) != simdjson::SUCCESS) return invalid("\"directories\" is no list");
  for (const json::element item : list) {
    std::string name;
    if (!read_string(item, &name) || !safe_name(name)) return invalid("a directory's name");
    manifest->directories.push_back(std::move(name));
  }
  return {};
}

}  // namespace

const Manifest::File* Manifest::find(std::string_view name) const {
  const auto it = std::lower_bound(files.begin(), files.end(), name,
                                   [](const File& f, std::string_view n) { return f.name < n; });
  return it != files.end() && it->name == name ? &*it : nullptr;
}

std::string format_manifest(const Manifest& manifest) {
  std::string out;
  const auto back = std::back_inserter(out);
  fmt::format_to(back, "{{\"format\":{},\n\"source\":\"{}\",\n\"directories\":[", Manifest::kFormat,
                 encode_name(manifest.source));
  const char* comma = "";
  for (const std::string& name : manifest.directories) {
    fmt::format_to(back, "{}\n\"{}\"", std::exchange(comma, ","), encode_name(name));
  }
  out += "],\n\"objects\":[";
  comma = "";
  for (const Manifest::File& file : manifest.files) {
    fmt::format_to(back,
                   "{}\n{{\"name\":\"{}\",\"size\":{},\"etag\":\"{}\",\"modified_ns\":{},"
                   "\"inode\":{},\"extents\":[",
                   std::exchange(comma, ","), encode_name(file.name), file.size,
                   encode_name(file.etag), file.modified_ns, file.inode);
    const char* inner = "";
    for (const ProvenExtent& extent : file.extents) {
      fmt::format_to(back, "{}[{},\"{:016x}{:016x}\"]", std::exchange(inner, ","), extent.length,
                     extent.digest.high, extent.digest.low);
    }
    out += "]}";
  }
  out += "]}\n";
  return out;
}

Result<Manifest> parse_manifest(std::string_view text) {
  json::parser parser;
  json::element root;
  json::object fields;
  if (parser.parse(simdjson::padded_string(text)).get(root) != simdjson::SUCCESS ||
      root.get(fields) != simdjson::SUCCESS) {
    return invalid("not a JSON object");
  }
  Manifest manifest;
  std::int64_t format = 0;
  // The version first: what a newer program wrote is not called damaged.
  if (root["format"].get(format) != simdjson::SUCCESS) return invalid("no \"format\"");
  if (format != Manifest::kFormat) {
    return invalid(fmt::format("format {}, this program knows {}", format, Manifest::kFormat));
  }
  std::set<std::string_view> seen;
  for (const auto [key, value] : fields) {
    if (!seen.insert(key).second) return invalid("a key twice");
    Status status;
    if (key == "source") {
      if (!read_string(value, &manifest.source)) status = invalid("\"source\"");
    } else if (key == "directories") {
      status = read_directories(value, &manifest);
    } else if (key == "objects") {
      status = read_files(value, &manifest);
    } else if (key != "format") {
      status = invalid("an unknown key");
    }
    if (!status) return tl::unexpected(status.error());
  }
  if (seen.size() != 4) return invalid("a key is missing");
  return manifest;
}

}  // namespace stage_model::store
