#include "engine/source/hf_tree.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "engine/source/show.h"

namespace stage_model::source {
namespace {

using simdjson::dom::element;

tl::unexpected<Error> unexpected(std::string_view what) {
  return fail(ExitCode::kSource,
              fmt::format("the hub's answer {}: is HF_ENDPOINT that of a hub?", what));
}

std::string_view text_of(const element& parent, const char* name) {
  std::string_view text;
  return parent[name].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

Result<Entry> parse_file(const element& file) {
  Entry entry;
  entry.key = std::string(text_of(file, "path"));
  if (entry.key.empty()) return unexpected("has a file without a path");
  element lfs;
  const bool in_lfs = file["lfs"].get(lfs) == simdjson::SUCCESS && lfs.is_object();
  const element& holder = in_lfs ? lfs : file;
  if (holder["size"].get(entry.size) != simdjson::SUCCESS) {
    return unexpected(fmt::format("has no valid size for '{}'", show(entry.key)));
  }
  const std::string_view oid = text_of(holder, "oid");
  constexpr std::size_t kSha256 = 32;
  constexpr std::size_t kSha1 = 20;
  entry.hash.bytes = from_hex(oid, in_lfs ? kSha256 : kSha1);
  if (in_lfs && entry.hash.bytes.empty()) {
    return unexpected(fmt::format("has no sha256 for the LFS file '{}'", show(entry.key)));
  }
  if (!entry.hash.bytes.empty()) {
    entry.hash.kind = in_lfs ? plan::StoreHash::Kind::kSha256 : plan::StoreHash::Kind::kSha1Git;
    entry.etag = "\"" + std::string(oid) + "\"";
  }
  return entry;
}

}  // namespace

bool is_commit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         std::all_of(text.begin(), text.end(), [](char c) { return hex_digit(c) >= 0; });
}

Result<std::string> parse_hf_commit(std::string_view json) {
  simdjson::dom::parser parser;
  element document;
  if (parser.parse(json.data(), json.size()).get(document) != simdjson::SUCCESS) {
    return unexpected("is not JSON");
  }
  const std::string commit(text_of(document, "sha"));
  if (!is_commit(commit)) return unexpected("names no commit");
  return commit;
}

Result<std::vector<Entry>> parse_hf_tree(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::array items;
  if (parser.parse(json.data(), json.size()).get(items) != simdjson::SUCCESS) {
    return unexpected("is not a list of files");
  }
  std::vector<Entry> entries;
  for (const element item : items) {
    const std::string_view type = text_of(item, "type");
    if (type == "directory") continue;
    if (type != "file") return unexpected("has an entry that is neither file nor directory");
    Result<Entry> entry = parse_file(item);
    if (!entry) return tl::unexpected(entry.error());
    entries.push_back(std::move(*entry));
  }
  return entries;
}

std::string next_link(std::string_view link) {
  while (!link.empty()) {
    const std::size_t open = link.find('<');
    const std::size_t close = link.find('>', open);
    if (open == std::string_view::npos || close == std::string_view::npos) return {};
    const std::string_view address = link.substr(open + 1, close - open - 1);
    const std::size_t end = std::min(link.find(',', close), link.size());
    const std::string_view parameters = link.substr(close, end - close);
    if (parameters.find("rel=\"next\"") != std::string_view::npos ||
        parameters.find("rel=next") != std::string_view::npos) {
      return std::string(address);
    }
    link.remove_prefix(end);
  }
  return {};
}

}  // namespace stage_model::source
