// Does it fit, and what to say when it does not.
#pragma once

#include <cstdint>

#include "engine/store/state.h"
#include "stage_model/result.h"

namespace stage_model::store {

// Does it fit as things are?
Status check_free(const State& state, std::uint64_t bytes_needed, std::uint64_t files_needed);

// As Staging::check_space: does it fit, perhaps without what stopped runs left?
Status check_room(const State& state, std::uint64_t bytes_needed, std::uint64_t files_needed);

// Removes of that what has to go, once it is known that all nodes have the room.
Status make_room(const State& state, std::uint64_t bytes_needed, std::uint64_t files_needed);

// ENOSPC or EDQUOT at `shown`: what is free where, and what is still to come. Others: disk_error.
Error write_error(const State& state, const std::string& shown, int error,
                  std::uint64_t bytes_to_come);

// All bytes that are neither held nor proven.
std::uint64_t bytes_to_transfer(const State& state);

}  // namespace stage_model::store
