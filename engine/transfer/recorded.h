// A rank that sends what its disk holds: are these the bytes that were staged here? Size, inode and
// time of a file do not show a block that has rotted, and all that the others can compare is the
// sender's own hash: without this one bad disk is published on every node.
#pragma once

#include <vector>

#include "engine/plan/plan.h"
#include "engine/store/store.h"
#include "stage_model/result.h"

namespace stage_model::transfer {

// Compares the digests of a chunk that was read from disk with those on record. An extent that the
// earlier run cut differently, or wrote without a digest (--verify none), is not compared.
// Errors: kIntegrity.
Status check_recorded(const plan::Listing& listing, const plan::Layout& layout,
                      const plan::Chunk& chunk, const std::vector<store::Digest>& digests,
                      const store::Staging& staging);
// Of a file that is here and does not have the store's hash.
Error held_error(const plan::Object& object);

}  // namespace stage_model::transfer
