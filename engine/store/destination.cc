#include "engine/store/destination.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include "engine/store/errors.h"
#include "engine/store/temp_directory.h"
#include "engine/store/tree.h"

namespace stage_model::store {
namespace {

tl::unexpected<Error> refuse(const Destination& destination, std::string_view why) {
  return fail(ExitCode::kDestination,
              fmt::format("destination {} {}", printable(destination.path), why));
}

// Component by component, so that the message names the one that cannot be had.
Result<Fd> make_parent(const std::string& parent) {
  Fd dir(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::size_t begin = 1;
  while (dir && begin < parent.size()) {
    const std::size_t end = std::min(parent.find('/', begin), parent.size());
    const std::string part = parent.substr(begin, end - begin);
    const std::string shown = parent.substr(0, end);
    // Links are fine here: sites link scratch directories to where the disk is mounted today. Not
    // readable is fine for all but the last.
    const int flags = (end == parent.size() ? O_RDONLY : O_PATH) | O_DIRECTORY | O_CLOEXEC;
    Fd next(::openat(dir.get(), part.c_str(), flags));
    if (!next && errno == ENOENT) {
      // EEXIST: another job was quicker.
      const bool made = ::mkdirat(dir.get(), part.c_str(), 0755) == 0;
      if (!made && errno != EEXIST) return disk_error("create", shown, errno);
      next = Fd(::openat(dir.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (made && next && ::fchmod(next.get(), 0755) != 0) {
        return disk_error("create", shown, errno);
      }
    }
    if (!next) return disk_error("open", shown, errno);
    dir = std::move(next);
    begin = end + 1;
  }
  if (!dir) return disk_error("open", parent, errno);
  return dir;
}

}  // namespace

Result<Destination> parse_destination(const std::string& text) {
  Destination destination;
  const auto bad = [&](std::string_view why) {
    return fail(ExitCode::kUsage, fmt::format("destination {}: {}", printable(text), why));
  };
  if (text.empty() || text[0] != '/') return bad("must be an absolute path");
  if (text.find('\0') != std::string::npos) return bad("has a NUL byte");
  std::vector<std::string_view> parts;
  const std::string_view view = text;
  for (std::size_t begin = 1; begin <= view.size();) {
    const std::size_t end = std::min(view.find('/', begin), view.size());
    const std::string_view part = view.substr(begin, end - begin);
    if (part == "..") return bad("must not have \"..\" in it");
    if (!part.empty() && part != ".") parts.push_back(part);
    begin = end + 1;
  }
  if (parts.empty()) return bad("must not be the root directory");
  if (parts.back().substr(0, 12) == kOwnDirectory) return bad("names that begin so are ours");
  destination.name = parts.back();
  parts.pop_back();
  for (const std::string_view part : parts) destination.parent.append("/").append(part);
  destination.path = destination.parent + "/" + destination.name;
  if (destination.parent.empty()) destination.parent = "/";
  return destination;
}

Result<Destination> open_destination(const std::string& text) {
  auto destination = parse_destination(text);
  if (!destination) return destination;
  auto dir = make_parent(destination->parent);
  if (!dir) return tl::unexpected(dir.error());
  destination->parent_dir = std::move(*dir);
  auto existing = open_existing(*destination);  // refuse early what publish() would refuse
  if (!existing) return tl::unexpected(existing.error());
  return destination;
}

Result<Fd> open_existing(const Destination& destination) {
  const int parent = destination.parent_dir.get();
  const char* name = destination.name.c_str();
  struct stat st = {};
  if (const int error = stat_at(parent, name, &st); error != 0) {
    if (error == ENOENT) return Fd();
    return disk_error("look at", destination.path, error);
  }
  if (S_ISLNK(st.st_mode)) return refuse(destination, "is a symbolic link: name its target");
  if (!S_ISDIR(st.st_mode)) return refuse(destination, "exists and is not a directory");
  if (st.st_uid != ::geteuid() && st.st_uid != 0) {
    return refuse(destination, "belongs to another user");
  }
  Fd dir = open_beneath(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!dir) return disk_error("open", destination.path, errno);
  struct stat manifest = {};
  if (stat_at(dir.get(), kManifestPath, &manifest) == 0 && S_ISREG(manifest.st_mode)) return dir;
  if (list_directory(dir.get()).empty()) return dir;
  return refuse(destination,
                "has data that is not from stage-model: remove it or choose another one");
}

}  // namespace stage_model::store
