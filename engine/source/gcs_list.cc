#include "engine/source/gcs_list.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "engine/base/crypto.h"
#include "engine/http/headers.h"
#include "engine/source/show.h"

namespace stage_model::source {
namespace {

using simdjson::dom::element;

std::string text_of(const element& parent, const char* name) {
  std::string_view value;
  return parent[name].get(value) == simdjson::SUCCESS ? std::string(value) : std::string();
}

// The crc32c, which every object has (composite ones have no MD5) and which takes less time.
plan::StoreHash hash_of(const element& item) {
  using Kind = plan::StoreHash::Kind;
  const auto crc32c = base64_decode(text_of(item, "crc32c"));  // big-endian
  if (crc32c && crc32c->size() == 4) return {Kind::kCrc32c, *crc32c};
  const auto md5 = base64_decode(text_of(item, "md5Hash"));
  if (md5 && md5->size() == 16) return {Kind::kMd5, *md5};
  return {};
}

Result<Entry> parse_item(const element& item) {
  Entry entry;
  entry.key = text_of(item, "name");
  if (entry.key.empty() || entry.key.find('\0') != std::string::npos) {
    return fail(ExitCode::kSource, "the list has an object without a usable name");
  }
  const std::string size = text_of(item, "size");
  const auto number = http::parse_number(size);
  if (!number) {
    return fail(ExitCode::kSource, fmt::format("the list has no valid size for '{}': '{}'",
                                               show(entry.key), show(size)));
  }
  entry.size = *number;
  entry.etag = text_of(item, "generation");
  if (!http::parse_number(entry.etag)) {
    return fail(ExitCode::kSource,
                fmt::format("the list has no valid generation for '{}'", show(entry.key)));
  }
  entry.hash = hash_of(item);
  return entry;
}

}  // namespace

Result<Page> parse_gcs_page(std::string_view json) {
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(simdjson::padded_string(json)).get(root) != simdjson::SUCCESS ||
      !root.is_object() || text_of(root, "kind") != "storage#objects") {
    return fail(ExitCode::kSource,
                "the answer is not a list of objects: is the endpoint that of Cloud Storage?");
  }
  Page page;
  page.next = text_of(root, "nextPageToken");
  simdjson::dom::array items;
  if (root["items"].get(items) != simdjson::SUCCESS) return page;  // absent where there are none
  page.entries.reserve(items.size());
  for (const element item : items) {
    Result<Entry> entry = parse_item(item);
    if (!entry) return tl::unexpected(entry.error());
    page.entries.push_back(std::move(*entry));
  }
  return page;
}

GcsError parse_gcs_error(std::string_view json) {
  simdjson::dom::parser parser;
  element root;
  element error;
  if (parser.parse(simdjson::padded_string(json)).get(root) != simdjson::SUCCESS ||
      root["error"].get(error) != simdjson::SUCCESS || !error.is_object()) {
    return {};
  }
  GcsError out;
  out.message = text_of(error, "message");
  element first;
  if (error["errors"].at(0).get(first) == simdjson::SUCCESS) out.reason = text_of(first, "reason");
  return out;
}

}  // namespace stage_model::source
