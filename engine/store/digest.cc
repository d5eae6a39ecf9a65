#include "engine/store/digest.h"

#include <xxhash.h>

#include <algorithm>
#include <new>

namespace stage_model::store {

Digest digest(const std::byte* data, std::size_t length) {
  const XXH128_hash_t hash = XXH3_128bits(data, length);
  return {hash.low64, hash.high64};
}

Digester::Digester() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state_);
}

Digester::~Digester() { XXH3_freeState(state_); }

void Digester::add(const std::byte* data, std::size_t length) {
  XXH3_128bits_update(state_, data, length);
}

Digest Digester::finish() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_);
  return {hash.low64, hash.high64};
}

const ProvenExtent* find_extent(const std::vector<ProvenExtent>& extents, std::uint64_t offset,
                                std::uint64_t length) {
  const auto at = std::lower_bound(
      extents.begin(), extents.end(), offset,
      [](const ProvenExtent& extent, std::uint64_t wanted) { return extent.offset < wanted; });
  const bool found = at != extents.end() && at->offset == offset && at->length == length;
  return found ? &*at : nullptr;
}

}  // namespace stage_model::store
