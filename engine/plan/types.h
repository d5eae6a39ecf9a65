// The nouns that every part of the engine shares. Pure data: no I/O, no MPI, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stage_model::plan {

// O_DIRECT's worst case alignment here; buffers, extents in a packed chunk and writes keep to it.
inline constexpr std::size_t kAlignment = 4096;

// A hash that the store itself states for a whole object.
struct StoreHash {
  enum class Kind : std::uint8_t { kNone, kMd5, kSha256, kCrc32c, kSha1Git };
  Kind kind = Kind::kNone;
  std::string bytes;  // raw, not hex or base64
};

struct Object {
  std::string name;  // relative to the model's prefix; bytes, checked by plan/names.h
  std::string key;   // what the source needs to GET it (full blob name, URL, path); bytes
  std::uint64_t size = 0;
  std::string etag;  // "" where the source has none; opaque, with its quotes
  StoreHash hash;
  // Why it cannot be staged ("is archived: …"), "" if it can: refused by names.h after the filters,
  // so that who excludes it gets the rest. Rank 0 only; never packed.
  std::string unusable = {};
};

// What rank 0 found; broadcast to all ranks as the plan's input.
struct Listing {
  std::string source;                    // the resolved URL, for messages; no secrets
  std::string lineage;                   // see held_as()
  std::string resolved;                  // opaque to all but the Source that made it
  std::vector<Object> objects;           // sorted by name, bytewise
  std::vector<std::string> directories;  // markers: created even when empty; relative, no slash end

  // What a manifest calls the source: the ETags of equal ones can be compared. Without the revision
  // where ETags are hashes of the content, so that a new one moves only the files that changed.
  const std::string& held_as() const { return lineage.empty() ? source : lineage; }
};

// The unit whose checksum the manifest keeps; one ranged GET, or several above --block-size.
struct Extent {
  std::uint32_t object = 0;  // index into Listing::objects
  std::uint64_t offset = 0;  // in the object
  std::uint64_t length = 0;  // > 0
  std::uint64_t at = 0;      // in the chunk's buffer; a multiple of kAlignment
};

// The unit that travels. Every rank derives the same chunks from the same listing.
struct Chunk {
  std::uint32_t first_extent = 0;  // index into Layout::extents
  std::uint32_t extent_count = 0;
  std::uint64_t bytes = 0;   // payload
  std::uint64_t length = 0;  // of the buffer that is broadcast (padding between extents included)
};

}  // namespace stage_model::plan
