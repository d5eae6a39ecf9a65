// What is staged as the store has it, but will make a loader fail: said once, changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/types.h"

namespace stage_model {

// A whole object (index into the listing) as it lies on this rank's disk; nothing if unreadable.
using ReadObject = std::function<std::optional<std::string>(std::uint32_t object)>;

// One line each, fit for a message: weights that are git LFS's pointers, and an index of shards
// (*.index.json, as transformers writes it) that names files which are not there. Reads small files
// only.
std::vector<std::string> find_doubts(const plan::Listing& listing, const ReadObject& read);

}  // namespace stage_model
