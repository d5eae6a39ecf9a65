#include "engine/store/space.h"

#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/store/aligned.h"
#include "engine/store/errors.h"
#include "engine/store/leftovers.h"
#include "engine/store/tree.h"
#include "stage_model/units.h"

namespace stage_model::store {
namespace {

// Directories, indirect blocks, the journal of the file system: small, but not nothing.
constexpr std::uint64_t kReserve = 1U << 20;
constexpr std::uint64_t kPerFile = 512;  // a line in the manifest and one in our journal

std::uint64_t available_memory() {
  std::ifstream in("/proc/meminfo");
  for (std::string word; in >> word;) {
    std::uint64_t kib = 0;
    if (word == "MemAvailable:" && in >> kib) return kib << 10;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

struct Free {
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
  std::uint64_t block = plan::kAlignment;
  bool memory = false;  // the bound is the node's memory
};

Free operator+(Free free, const Usage& usage) {
  free.bytes += usage.bytes;
  free.inodes += std::min(usage.files, std::numeric_limits<std::uint64_t>::max() - free.inodes);
  return free;
}

Result<Free> look_at_disk(const Destination& destination) {
  struct statvfs fs = {};
  struct statfs type = {};
  const int dir = destination.parent_dir.get();
  if (::fstatvfs(dir, &fs) != 0 || ::fstatfs(dir, &type) != 0) {
    return disk_error("ask for the free space of", destination.parent, errno);
  }
  Free free;
  free.bytes = std::uint64_t{fs.f_bavail} * fs.f_frsize;
  // Some (btrfs) make inodes as they go and say 0.
  free.inodes = fs.f_files == 0 ? std::numeric_limits<std::uint64_t>::max() : fs.f_favail;
  free.block = std::max<std::uint64_t>(fs.f_frsize, plan::kAlignment);
  if (type.f_type == TMPFS_MAGIC && available_memory() < free.bytes) {
    free.bytes = available_memory();
    free.memory = true;
  }
  return free;
}

// "" where it fits.
std::string lacking(const State& state, Free free, std::uint64_t bytes_needed,
                    std::uint64_t files_needed) {
  std::uint64_t need = bytes_needed + kReserve + kPerFile * state.items.size();
  for (std::size_t i = 0; i < state.items.size(); ++i) {
    const std::uint64_t size = state.listing->objects[i].size;
    if (!state.items[i].held()) need += (free.block - size % free.block) % free.block;
  }
  std::uint64_t inodes = files_needed + state.listing->directories.size() + 8;
  std::string partial;
  if (state.adopted) {
    const Usage usage = tree_usage(state.adopted->dir.get());
    free.bytes += usage.bytes;
    inodes -= std::min(inodes, usage.files);
    partial = fmt::format(" (with {} of an earlier run's)", format_size(usage.bytes));
  }
  if (need > free.bytes) {
    return fmt::format("not enough space for {}: {} needed, {} {}{}; {}",
                       printable(state.destination.path), format_size(need),
                       format_size(free.bytes),
                       free.memory ? "of memory available, and it lies in memory" : "free", partial,
                       "free some or choose another destination");
  }
  if (inodes > free.inodes) {
    return fmt::format(
        "not enough inodes for {}: {} needed, {} free; remove files or choose "
        "another destination",
        printable(state.destination.path), inodes, free.inodes);
  }
  return {};
}

}  // namespace

std::uint64_t bytes_to_transfer(const State& state) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < state.items.size(); ++i) {
    if (state.items[i].held()) continue;
    bytes += state.listing->objects[i].size;
    for (const ProvenExtent& extent : state.items[i].proven) bytes -= extent.length;
  }
  return bytes;
}

Status check_free(const State& state, std::uint64_t bytes_needed, std::uint64_t files_needed) {
  if (state.published) return {};
  auto free = look_at_disk(state.destination);
  if (!free) return tl::unexpected(free.error());
  std::string lack = lacking(state, *free, bytes_needed, files_needed);
  if (!lack.empty()) return fail(ExitCode::kDestination, std::move(lack));
  return {};
}

namespace {

struct Room {
  Free free;
  std::string lack;            // "": it fits as things are
  std::vector<Leftover> dead;  // without them it fits
};

Result<Room> look_for_room(const State& state, std::uint64_t bytes_needed,
                           std::uint64_t files_needed) {
  Room room;
  const auto free = look_at_disk(state.destination);
  if (!free) return tl::unexpected(free.error());
  room.free = *free;
  room.lack = lacking(state, *free, bytes_needed, files_needed);
  if (room.lack.empty()) return room;
  room.dead =
      dead_leftovers(state.destination, state.seams, state.temp ? state.temp->name : std::string());
  Usage all;
  for (const Leftover& leftover : room.dead) all = all + leftover.usage;
  if (!lacking(state, *free + all, bytes_needed, files_needed).empty()) {
    return fail(ExitCode::kDestination, std::move(room.lack));
  }
  return room;
}

}  // namespace

Status check_room(const State& state, std::uint64_t bytes_needed, std::uint64_t files_needed) {
  if (state.published) return {};
  const auto room = look_for_room(state, bytes_needed, files_needed);
  if (!room) return tl::unexpected(room.error());
  return {};
}

Status make_room(const State& state, std::uint64_t bytes_needed, std::uint64_t files_needed) {
  if (state.published) return {};
  // Nobody loses what would not help.
  auto room = look_for_room(state, bytes_needed, files_needed);
  if (!room) return tl::unexpected(room.error());
  std::string& lack = room->lack;
  Usage removed;
  for (const Leftover& leftover : room->dead) {
    if (!remove_leftover(state.destination, leftover)) continue;
    removed = removed + leftover.usage;
    auto free = look_at_disk(state.destination);
    if (!free) return tl::unexpected(free.error());
    // Some file systems (xfs) free in the background, and count it only then.
    const Free promised = room->free + removed;
    free->bytes = std::max(free->bytes, promised.bytes);
    free->inodes = std::max(free->inodes, promised.inodes);
    lack = lacking(state, *free, bytes_needed, files_needed);
    if (lack.empty()) break;
  }
  if (removed.files > 0) {
    fmt::print(stderr, "stage-engine: note: removed {} that stopped runs had left in {}, for {}\n",
               format_size(removed.bytes), printable(state.destination.parent),
               printable(state.destination.path));
  }
  if (!lack.empty()) return fail(ExitCode::kDestination, std::move(lack));
  return {};
}

Error write_error(const State& state, const std::string& shown, int error,
                  std::uint64_t bytes_to_come) {
  if (!out_of_space(error)) return disk_error("write", shown, error).value();
  const auto free = look_at_disk(state.destination);
  const std::string what = error == EDQUOT ? "disk quota exceeded" : "no space left";
  std::string room = "unknown";
  if (free && free->inodes == 0) room = "no inodes";
  if (free && free->inodes != 0) room = format_size(free->bytes);
  return {ExitCode::kDestination,
          fmt::format("{} for {}: {} still needed, {} free in {}", what, printable(shown),
                      format_size(bytes_to_come), room, printable(state.destination.parent))};
}

}  // namespace stage_model::store
