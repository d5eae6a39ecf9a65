#include "engine/store/presence.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "engine/base/parallel.h"
#include "engine/store/aligned.h"
#include "engine/store/digest.h"
#include "engine/store/errors.h"
#include "engine/store/names.h"
#include "engine/store/tree.h"

namespace stage_model::store {
namespace {

constexpr std::uint64_t kReadPiece = 4U << 20;

bool same_object(const plan::Object& object, std::uint64_t size, const std::string& etag,
                 Compare compare) {
  if (compare == Compare::kNone || object.size != size) return false;
  return compare == Compare::kSize || (!object.etag.empty() && object.etag == etag);
}

// Nothing of two versions in one file: the size alone is enough only where there is no ETag at all.
bool same_partial(const plan::Object& object, const JournalObject& partial, Compare compare) {
  if (compare == Compare::kNone || object.size != partial.size) return false;
  if (object.etag != partial.etag) return false;
  return compare == Compare::kSize || !object.etag.empty();
}

// Every listed object's record in the manifest, or nullptr; files looked at in parallel.
std::vector<const Manifest::File*> held_files(int dir, const Manifest& manifest,
                                              const plan::Listing& listing, Compare compare,
                                              unsigned threads) {
  std::vector<const Manifest::File*> held(listing.objects.size());
  if (manifest.source != listing.held_as() || compare == Compare::kNone) return held;
  static_cast<void>(parallel_for(held.size(), threads, [&](std::size_t i) -> Status {
    const plan::Object& object = listing.objects[i];
    const Manifest::File* record = manifest.find(object.name);
    struct stat st = {};
    if (record != nullptr && same_object(object, record->size, record->etag, compare) &&
        stat_at(dir, object.name.c_str(), &st) == 0 && same_file(st, *record)) {
      held[i] = record;
    }
    return {};
  }));
  return held;
}

bool all_directories(int dir, const plan::Listing& listing) {
  return std::all_of(listing.directories.begin(), listing.directories.end(),
                     [dir](const std::string& name) {
                       struct stat st = {};
                       return stat_at(dir, name.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
                     });
}

// Limits that only the file system knows; everything else about names was checked by plan.
Status check_names(const State& state) {
  struct statvfs fs = {};
  const int parent = state.destination.parent_dir.get();
  const std::size_t limit =
      ::fstatvfs(parent, &fs) == 0 && fs.f_namemax > 0 ? fs.f_namemax : NAME_MAX;
  const auto check = [&](const std::string& name) -> Status {
    if (!safe_name(name)) {
      return fail(ExitCode::kDestination,
                  fmt::format("\"{}\" cannot be a file's name here", printable(name)));
    }
    if (state.destination.path.size() + 1 + name.size() >= PATH_MAX) {
      return fail(ExitCode::kDestination,
                  fmt::format("{}/{}: the path is longer than {} bytes", state.destination.path,
                              printable(name), PATH_MAX - 1));
    }
    for (std::size_t begin = 0; begin <= name.size();) {
      const std::size_t end = std::min(name.find('/', begin), name.size());
      if (end - begin > limit) {
        return fail(ExitCode::kDestination,
                    fmt::format("\"{}\": a part of the name has {} bytes, the file system of {} "
                                "takes {}",
                                printable(name), end - begin, state.destination.parent, limit));
      }
      begin = end + 1;
    }
    return {};
  };
  for (const plan::Object& object : state.listing->objects) {
    if (Status status = check(object.name); !status) return status;
  }
  for (const std::string& name : state.listing->directories) {
    if (Status status = check(name); !status) return status;
  }
  return {};
}

// Reads the extent again and compares. Whatever goes wrong: not proven.
bool proven(int dir, const std::string& name, const ProvenExtent& extent, bool direct) {
  Fd fd = direct ? open_beneath(dir, name.c_str(), O_RDONLY | O_DIRECT) : Fd();
  if (!fd) fd = open_beneath(dir, name.c_str(), O_RDONLY);
  if (!fd) return false;
  const std::uint64_t piece = std::min(kReadPiece, align_up(extent.length));
  const AlignedBuffer buffer = make_aligned(piece);
  Digester digester;
  for (std::uint64_t done = 0; done < extent.length;) {
    const std::uint64_t want = std::min(piece, extent.length - done);
    const ssize_t got =
        ::pread(fd.get(), buffer.get(), align_up(want), static_cast<off_t>(extent.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EINVAL && direct) return proven(dir, name, extent, false);
    // A part of a piece would leave the next read unaligned; it does not happen on regular files
    // but at their end.
    if (got < static_cast<ssize_t>(want)) return false;
    digester.add(buffer.get(), want);
    done += want;
  }
  return digester.finish() == extent.digest;
}

// A file that we may go on writing: ours alone. A second link may be a file of a published model.
bool may_continue(int dir, const std::string& name) {
  struct stat st = {};
  return stat_at(dir, name.c_str(), &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
         st.st_uid == ::geteuid();
}

void take_partial(State* state) {
  struct Claim {
    std::size_t object;
    ProvenExtent extent;
  };
  const auto& objects = state->listing->objects;
  const int dir = state->adopted->dir.get();
  std::vector<Claim> claims;
  for (const JournalObject& partial : state->adopted->journal.objects) {
    const auto it = std::lower_bound(
        objects.begin(), objects.end(), partial.name,
        [](const plan::Object& o, const std::string& name) { return o.name < name; });
    if (it == objects.end() || it->name != partial.name) continue;
    const auto index = static_cast<std::size_t>(it - objects.begin());
    if (state->items[index].held() || !same_partial(*it, partial, state->options.compare)) continue;
    if (!may_continue(dir, partial.name)) continue;
    for (const ProvenExtent& extent : partial.extents) claims.push_back({index, extent});
  }
  std::vector<char> good(claims.size());
  static_cast<void>(parallel_for(claims.size(), std::max(state->threads(), 4U), [&](std::size_t i) {
    good[i] = static_cast<char>(
        proven(dir, objects[claims[i].object].name, claims[i].extent, state->options.direct));
    return Status();
  }));
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (good[i] == 0) continue;
    Item& item = state->items[claims[i].object];
    item.origin = Origin::kPartial;
    item.proven.push_back(claims[i].extent);
  }
  for (Item& item : state->items) {
    // An extent that was written twice stands in the journal twice.
    std::sort(item.proven.begin(), item.proven.end(),
              [](const auto& a, const auto& b) { return a.offset < b.offset; });
    std::uint64_t end = 0;
    std::erase_if(item.proven, [&end](const ProvenExtent& extent) {
      if (extent.offset < end) return true;
      end = extent.offset + extent.length;
      return false;
    });
  }
}

void take_held(const std::vector<const Manifest::File*>& held, Origin origin, State* state) {
  for (std::size_t i = 0; i < held.size(); ++i) {
    Item& item = state->items[i];
    if (held[i] == nullptr || item.held()) continue;
    item.origin = origin;
    item.record = held[i];
  }
}

}  // namespace

bool same_file(const struct stat& st, const Manifest::File& record) {
  const std::int64_t modified =
      std::int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec;
  return S_ISREG(st.st_mode) && static_cast<std::uint64_t>(st.st_size) == record.size &&
         st.st_ino == record.inode && modified == record.modified_ns;
}

std::optional<Manifest> load_manifest(int dir) {
  auto text = read_file(dir, kManifestPath, kMaxManifestBytes, kManifestPath);
  if (!text) return std::nullopt;
  auto manifest = parse_manifest(*text);
  if (!manifest) return std::nullopt;
  return std::move(*manifest);
}

bool is_exactly(int dir, const Manifest& manifest, const plan::Listing& listing, Compare compare,
                unsigned threads) {
  if (manifest.files.size() != listing.objects.size()) return false;
  const auto held = held_files(dir, manifest, listing, compare, threads);
  if (manifest.source != listing.held_as() || compare == Compare::kNone) return false;
  return std::all_of(held.begin(), held.end(), [](const auto* f) { return f != nullptr; }) &&
         all_directories(dir, listing);
}

Status look(State* state) {
  if (Status status = check_names(*state); !status) return status;
  const plan::Listing& listing = *state->listing;
  const unsigned threads = std::max(state->threads(), 4U);
  const Compare compare = state->options.compare;
  state->items.assign(listing.objects.size(), {});

  auto existing = open_existing(state->destination);
  if (!existing) return tl::unexpected(existing.error());
  state->dest_dir = std::move(*existing);
  if (state->dest_dir) state->dest_manifest = load_manifest(state->dest_dir.get());
  if (state->dest_manifest) {
    const int dir = state->dest_dir.get();
    const Manifest& manifest = *state->dest_manifest;
    take_held(held_files(dir, manifest, listing, compare, threads), Origin::kDestination, state);
    state->published = manifest.files.size() == listing.objects.size() &&
                       manifest.source == listing.held_as() && compare != Compare::kNone &&
                       std::all_of(state->items.begin(), state->items.end(),
                                   [](const Item& item) { return item.held(); }) &&
                       all_directories(dir, listing);
  }

  LeftoverRules rules;
  rules.partial_keep_s = state->options.partial_keep_s;
  rules.source = listing.held_as();
  rules.adopt = !state->published && compare != Compare::kNone;
  auto adopted = take_leftovers(state->destination, rules, state->seams, {}, &state->temp);
  if (!adopted) return tl::unexpected(adopted.error());
  state->adopted = std::move(*adopted);
  if (!state->adopted) return {};
  if (state->adopted->manifest) {
    take_held(
        held_files(state->adopted->dir.get(), *state->adopted->manifest, listing, compare, threads),
        Origin::kAdopted, state);
  }
  take_partial(state);
  return {};
}

}  // namespace stage_model::store
