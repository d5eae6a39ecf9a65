#include "engine/transfer/recorded.h"

#include <fmt/format.h>

#include "engine/plan/names.h"

namespace stage_model::transfer {

namespace {

Error rotten_error(const plan::Object& object) {
  return {
      ExitCode::kIntegrity,
      fmt::format("this node's disk gives back other bytes of {} than were staged to it: remove "
                  "the destination on this node, or stage once more with --compare none",
                  plan::printable(object.name))};
}

}  // namespace

// An earlier run cannot have compared it if the file was in several chunks then.
Error held_error(const plan::Object& object) {
  return {
      ExitCode::kIntegrity,
      fmt::format("{} as this node holds it does not have the store's hash: this node's disk is at "
                  "fault, or the store's bytes or hash are. Stage once more with --compare none",
                  plan::printable(object.name))};
}

Status check_recorded(const plan::Listing& listing, const plan::Layout& layout,
                      const plan::Chunk& chunk, const std::vector<store::Digest>& digests,
                      const store::Staging& staging) {
  for (std::uint32_t i = 0; i < chunk.extent_count; ++i) {
    const plan::Extent& extent = layout.extents[chunk.first_extent + i];
    const auto& recorded = staging.recorded(extent.object);
    const auto* at = store::find_extent(recorded, extent.offset, extent.length);
    if (at == nullptr || at->digest == store::Digest{} || at->digest == digests[i]) continue;
    return tl::unexpected(rotten_error(listing.objects[extent.object]));
  }
  return {};
}

}  // namespace stage_model::transfer
