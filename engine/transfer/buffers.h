// The memory of chunk buffers of one kind (receive or download): aligned, allocated once. Which of
// them is in use, the scheduler knows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stage_model/result.h"

namespace stage_model::transfer {

class Buffers {
 public:
  // `size` is rounded up so that a tail may be written with O_DIRECT. Errors: kDestination when the
  // memory cannot be had.
  static Result<Buffers> make(std::size_t count, std::uint64_t size);
  ~Buffers();
  Buffers(Buffers&& other) noexcept;
  Buffers& operator=(Buffers&&) = delete;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  std::byte* at(std::size_t index) const { return memory_ + index * each_; }

 private:
  Buffers() = default;
  std::byte* memory_ = nullptr;
  std::size_t length_ = 0;
  std::size_t each_ = 0;
};

}  // namespace stage_model::transfer
