#include "engine/plan/names.h"

#include <fmt/format.h>

#include <unordered_set>

#include "engine/base/text.h"

namespace stage_model::plan {
namespace {

Status refuse(std::string_view name, std::string_view why) {
  return fail(ExitCode::kSource,
              fmt::format("object {} {}; nothing was staged", printable(name), why));
}

Status check_one(std::string_view name, std::size_t room) {
  if (name.empty()) return refuse(name, "has an empty name");
  if (name.find('\0') != std::string_view::npos) return refuse(name, "has a NUL in its name");
  if (name.front() == '/')
    return refuse(name, "has an absolute name, which could leave the destination");
  if (name.size() > room) {
    return refuse(
        name,
        fmt::format("has a name of {} bytes; with the destination the path would pass {} bytes",
                    name.size(), kMaxPath));
  }
  bool first = true;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty()) return refuse(name, "has an empty component in its name (\"//\")");
    if (part == "." || part == "..") {
      return refuse(name,
                    fmt::format("has a \"{}\" component, which could leave the destination", part));
    }
    if (part.size() > kMaxComponent) {
      return refuse(name, fmt::format("has a component of {} bytes; the file system's limit is {}",
                                      part.size(), kMaxComponent));
    }
    if (first && part == kReservedName) {
      return refuse(name, "lies under .stage-model, which is kept for our own files");
    }
    first = false;
    begin = end + 1;
  }
  return {};
}

}  // namespace

std::string printable(std::string_view name) {
  constexpr std::size_t kShown = 200;
  if (name.size() <= kShown + 20) return "'" + stage_model::printable(name) + "'";
  return "'" + stage_model::printable(name.substr(0, kShown / 2)) + "..." +
         stage_model::printable(name.substr(name.size() - kShown / 2)) + "'";
}

Status check_names(const Listing& listing, std::string_view destination) {
  const std::size_t room =
      kMaxPath - std::min(kMaxPath, destination.size() + 64);  // 64: temporary name
  std::unordered_set<std::string_view> files;
  std::unordered_set<std::string_view> directories;
  auto add_parents = [&](std::string_view name) {
    for (std::size_t slash = name.rfind('/'); slash != std::string_view::npos;
         slash = name.rfind('/')) {
      name = name.substr(0, slash);
      if (!directories.insert(name).second) break;
    }
  };
  for (const Object& object : listing.objects) {
    if (!object.unusable.empty()) return refuse(object.name, object.unusable);
    if (auto ok = check_one(object.name, room); !ok) return ok;
    if (!files.insert(object.name).second) return refuse(object.name, "is listed twice");
    add_parents(object.name);
  }
  for (const std::string& name : listing.directories) {
    if (auto ok = check_one(name, room); !ok) return ok;
    directories.insert(name);
    add_parents(name);
  }
  for (const Object& object : listing.objects) {
    if (directories.contains(object.name)) {
      return refuse(object.name,
                    "is a file and also the directory of other objects; exclude one of them");
    }
  }
  return {};
}

}  // namespace stage_model::plan
