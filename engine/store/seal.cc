#include "engine/store/seal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string_view>

#include "engine/base/parallel.h"
#include "engine/store/errors.h"
#include "engine/store/presence.h"
#include "engine/store/space.h"
#include "engine/store/tree.h"

namespace stage_model::store {
namespace {

// Above this, one syncfs instead of an fsync (a flush of the disk's cache) for every small file.
constexpr std::size_t kManyFiles = 1024;

bool covers(const std::vector<ProvenExtent>& extents, std::uint64_t size) {
  std::uint64_t end = 0;
  for (const ProvenExtent& extent : extents) {
    if (extent.offset != end || extent.length == 0 || extent.length > size - end) return false;
    end += extent.length;
  }
  return end == size;
}

class Seal {
 public:
  Seal(State* state, const std::vector<std::vector<ProvenExtent>>& extents)
      : state_(*state), extents_(extents), temp_(state->temp->dir.get()) {}

  Status run() {
    manifest_.source = state_.listing->held_as();
    manifest_.directories = state_.listing->directories;
    manifest_.files.resize(state_.items.size());
    each_ = state_.items.size() <= kManyFiles;
    Status status = parallel_for(state_.items.size(), state_.threads(),
                                 [this](std::size_t i) { return file(static_cast<uint32_t>(i)); });
    if (status) status = directories();
    if (!status) return status;
    std::sort(manifest_.directories.begin(), manifest_.directories.end());
    status = write_file(temp_, kOwnDirectory, "manifest", format_manifest(manifest_),
                        state_.temp_path() + "/" + kManifestPath);
    if (status && ::fsync(temp_) != 0) status = failed(state_.temp_path(), errno);
    return status;
  }

 private:
  tl::unexpected<Error> failed(const std::string& shown, int error) {
    if (out_of_space(error)) state_.full = true;
    return tl::unexpected(write_error(state_, shown, error, 0));
  }

  Status file(std::uint32_t i) {
    const plan::Object& object = state_.listing->objects[i];
    const Item& item = state_.items[i];
    Manifest::File& out = manifest_.files[i];
    if (item.held()) out.extents = item.record->extents;
    if (!extents_[i].empty()) out.extents = extents_[i];
    if (!covers(out.extents, object.size)) {
      return fail(ExitCode::kIntegrity, fmt::format("{}: not all of its {} bytes were staged",
                                                    printable(object.name), object.size));
    }
    const bool ours = !item.held() || item.origin == Origin::kCopied;
    const Fd fd = open_beneath(temp_, object.name.c_str(), ours ? O_WRONLY : O_RDONLY);
    struct stat st = {};
    if (!fd || ::fstat(fd.get(), &st) != 0) return failed(state_.shown(i), errno);
    if (!S_ISREG(st.st_mode)) return failed(state_.shown(i), EINVAL);
    if (ours) {
      if (static_cast<std::uint64_t>(st.st_size) < object.size) {
        return fail(ExitCode::kIntegrity, fmt::format("{} is shorter than its {} bytes",
                                                      printable(state_.shown(i)), object.size));
      }
      // Longer only where someone else wrote to it, or a partial file was padded.
      if (static_cast<std::uint64_t>(st.st_size) != object.size &&
          ::ftruncate(fd.get(), static_cast<off_t>(object.size)) != 0) {
        return failed(state_.shown(i), errno);
      }
      if (each_ && ::fsync(fd.get()) != 0) return failed(state_.shown(i), errno);
      if (::fstat(fd.get(), &st) != 0) return failed(state_.shown(i), errno);
    } else if (!same_file(st, *item.record)) {
      return fail(ExitCode::kDestination,
                  fmt::format("{}/{} was changed while it was being staged: run again",
                              printable(state_.destination.path), printable(object.name)));
    }
    out.name = object.name;
    out.size = object.size;
    // Held by its size alone, it is what it was staged as: under the new ETag the old bytes would
    // be current for ever.
    out.etag = item.held() ? item.record->etag : object.etag;
    out.modified_ns = std::int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec;
    out.inode = st.st_ino;
    return {};
  }

  Status directories() {
    if (!each_) {
      if (::syncfs(temp_) != 0) return failed(state_.temp_path(), errno);
    } else {
      std::set<std::string_view> all(state_.listing->directories.begin(),
                                     state_.listing->directories.end());
      for (const plan::Object& object : state_.listing->objects) all.insert(object.name);
      std::set<std::string> parents;
      for (std::string_view name : all) {
        for (std::size_t slash = name.rfind('/'); slash != std::string_view::npos;
             slash = name.rfind('/')) {
          name = name.substr(0, slash);
          if (!parents.emplace(name).second) break;
        }
      }
      parents.insert(state_.listing->directories.begin(), state_.listing->directories.end());
      for (const std::string& name : parents) {
        const Fd dir = open_beneath(temp_, name.c_str(), O_RDONLY | O_DIRECTORY);
        if (!dir || ::fsync(dir.get()) != 0) return failed(state_.temp_path() + "/" + name, errno);
      }
    }
    // Private while it was being built; ROOT/USER is 0700 and keeps it so where that matters.
    if (::fchmod(temp_, 0755) != 0) return failed(state_.temp_path(), errno);
    return {};
  }

  State& state_;
  const std::vector<std::vector<ProvenExtent>>& extents_;
  int temp_;
  bool each_ = true;
  Manifest manifest_;
};

}  // namespace

Status seal_temp_directory(State* state, const std::vector<std::vector<ProvenExtent>>& extents) {
  if (extents.size() != state->items.size()) {
    return fail(ExitCode::kIntegrity, "the extents do not belong to the listing");
  }
  return Seal(state, extents).run();
}

}  // namespace stage_model::store
