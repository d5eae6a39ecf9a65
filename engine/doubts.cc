#include "engine/doubts.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "engine/plan/names.h"
#include "engine/source/lfs_pointer.h"

namespace stage_model {
namespace {

constexpr std::uint64_t kLargestIndex = 64 << 20;  // bytes; a few MB for the largest models

std::string such_as(std::size_t count, const char* one, const char* many, std::string_view name) {
  return count == 1 ? fmt::format("{} {}", plan::printable(name), one)
                    : fmt::format("{} and {} more {}", plan::printable(name), count - 1, many);
}

bool listed(const plan::Listing& listing, std::string_view name) {
  const auto at = std::lower_bound(
      listing.objects.begin(), listing.objects.end(), name,
      [](const plan::Object& object, std::string_view n) { return object.name < n; });
  return at != listing.objects.end() && at->name == name;
}

// The files of a "weight_map": {"tensor": "file", …}.
std::set<std::string> shards_of(const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::object map;
  std::set<std::string> out;
  if (parser.parse(json)["weight_map"].get(map) != simdjson::SUCCESS) return out;
  for (const auto [tensor, file] : map) {
    std::string_view name;
    if (file.get(name) == simdjson::SUCCESS) out.emplace(name);
  }
  return out;
}

}  // namespace

std::vector<std::string> find_doubts(const plan::Listing& listing, const ReadObject& read) {
  std::vector<std::string> out;
  std::size_t pointers = 0;
  std::string_view first;
  for (std::uint32_t i = 0; i < listing.objects.size(); ++i) {
    const plan::Object& object = listing.objects[i];
    if (source::may_be_lfs_pointer(object.name, object.size)) {
      const auto text = read(i);
      if (!text || !source::is_lfs_pointer(*text)) continue;
      if (pointers++ == 0) first = object.name;
    } else if (object.name.ends_with(".index.json") && object.size <= kLargestIndex) {
      const auto text = read(i);
      if (!text) continue;
      const std::string folder = object.name.substr(0, object.name.rfind('/') + 1);
      std::size_t missing = 0;
      std::string example;
      for (const std::string& shard : shards_of(*text)) {
        if (listed(listing, folder + shard)) continue;
        if (missing++ == 0) example = shard;
      }
      if (missing == 0) continue;
      out.push_back(
          fmt::format("{} names {}, staged as the source has it", plan::printable(object.name),
                      such_as(missing, "that is not there", "that are not there", example)));
    }
  }
  if (pointers > 0) {
    out.push_back(fmt::format("{} of git LFS, not the weights: upload the files themselves",
                              such_as(pointers, "is a pointer", "are pointers", first)));
  }
  return out;
}

}  // namespace stage_model
