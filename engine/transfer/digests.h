// Checksums of what is in memory: ours (XXH3 128 of each extent, and of a chunk through those of
// its extents), and the store's own where an object lies whole in one chunk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/store/store.h"
#include "stage_model/result.h"

namespace stage_model::transfer {

// Digests of the chunk's extents, in order. `buffer` holds the chunk.
std::vector<store::Digest> digest_extents(const plan::Layout& layout, const plan::Chunk& chunk,
                                          const std::byte* buffer);

// What travels with the sequencer's entry: XXH3 128 over the extents' digests.
std::array<std::uint64_t, 2> chunk_check(const std::vector<store::Digest>& extents);

// A running hash of a whole object as its store defines it. Not for kNone.
class StoreHasher {
 public:
  virtual ~StoreHasher() = default;
  virtual void update(const std::byte* data, std::size_t length) = 0;
  virtual std::string finish() = 0;  // raw bytes, to compare with StoreHash::bytes
};
// Null for a kind that we cannot compute: the caller skips the check.
std::unique_ptr<StoreHasher> make_store_hasher(const plan::Object& object);

// Compares the store's hash of each object that lies whole in this chunk; `error` says what it
// means that one does not have it. Errors: kIntegrity.
Error store_hash_error(const plan::Object& object);
Status check_store_hashes(const plan::Listing& listing, const plan::Layout& layout,
                          const plan::Chunk& chunk, const std::byte* buffer,
                          Error (*error)(const plan::Object&) = store_hash_error);

}  // namespace stage_model::transfer
