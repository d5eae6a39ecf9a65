// The text that git LFS keeps in place of a file
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md): uploaded by mistake, it is found
// here and not by a loader hours later. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stage_model::source {

inline constexpr std::size_t kLargestPointer = 1024;  // bytes; the specification's limit

// Is an object of this name weights, and as small as a pointer? Then a look at it is worth while.
bool may_be_lfs_pointer(std::string_view name, std::uint64_t size);

bool is_lfs_pointer(std::string_view text);

}  // namespace stage_model::source
