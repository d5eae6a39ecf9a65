// Memory that O_DIRECT takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "engine/plan/types.h"

namespace stage_model::store {

inline constexpr std::uint64_t align_up(std::uint64_t value) {
  return (value + plan::kAlignment - 1) / plan::kAlignment * plan::kAlignment;
}

struct FreeAligned {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using AlignedBuffer = std::unique_ptr<std::byte[], FreeAligned>;

// At least one unit of alignment; a length that is not a multiple is rounded up.
inline AlignedBuffer make_aligned(std::uint64_t length) {
  const std::uint64_t rounded = align_up(length == 0 ? 1 : length);
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(plan::kAlignment, rounded));
  if (memory == nullptr) throw std::bad_alloc();
  return AlignedBuffer(memory);
}

}  // namespace stage_model::store
