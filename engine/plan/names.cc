#include "engine/plan/names.h"

#include <fmt/format.h>

#include <unordered_set>

namespace stage_model::plan {
namespace {

// The length of the UTF-8 sequence at the front of `text`, 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : 4;
  if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  }
  return length;
}

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
  std::string out = "'";
  for (std::size_t i = 0; i < name.size();) {
    if (name.size() > kShown + 20 && i >= kShown / 2 && i < name.size() - kShown / 2) {
      i = name.size() - kShown / 2;
      out += "...";
    }
    const std::size_t length = utf8_length(name.substr(i));
    const auto byte = static_cast<unsigned char>(name[i]);
    if (length == 0 || byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02X}", byte);
      ++i;
    } else {
      out.append(name, i, length);
      i += length;
    }
  }
  return out + "'";
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
