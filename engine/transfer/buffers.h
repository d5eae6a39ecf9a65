// Chunk buffers of one kind (receive or download): aligned, allocated once, handed out by index.
// Bounded on purpose: a full pool is the back-pressure from the disk to the source.
// Main thread only; the memory itself may be used by any thread while it is handed out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

  bool empty() const { return free_.empty(); }
  std::size_t available() const { return free_.size(); }
  std::byte* acquire();  // not empty()
  void release(std::byte* buffer);

 private:
  Buffers() = default;
  std::byte* memory_ = nullptr;
  std::size_t length_ = 0;
  std::vector<std::byte*> free_;
};

}  // namespace stage_model::transfer
