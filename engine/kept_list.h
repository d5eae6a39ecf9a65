// The list of a revision that cannot change (a commit), kept beside the model it was made for: the
// next job with that commit asks the store for nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/plan/filter.h"
#include "engine/plan/types.h"

namespace stage_model {

inline constexpr char kKeptList[] = "list";  // DEST/.stage-model/list

std::string write_kept_list(const plan::Listing& listing, const plan::Filter& filter);

// Nothing if it is damaged, of another version of this program, or was made with another filter.
std::optional<plan::Listing> read_kept_list(std::string_view text, const plan::Filter& filter);

}  // namespace stage_model
