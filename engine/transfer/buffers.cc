#include "engine/transfer/buffers.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <utility>

#include "engine/plan/types.h"
#include "stage_model/units.h"

namespace stage_model::transfer {

Result<Buffers> Buffers::make(std::size_t count, std::uint64_t size) {
  Buffers buffers;
  const std::uint64_t each = (size + plan::kAlignment - 1) / plan::kAlignment * plan::kAlignment;
  if (count == 0 || each == 0) return buffers;
  buffers.length_ = count * each;
  void* memory = mmap(nullptr, buffers.length_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return fail(ExitCode::kDestination,
                fmt::format("no memory for {} buffers of {}; lower --memory or --chunk-size", count,
                            format_size(each)));
  }
  madvise(memory, buffers.length_, MADV_HUGEPAGE);
  // A core dump must not hold half a model.
  madvise(memory, buffers.length_, MADV_DONTDUMP);
  buffers.memory_ = static_cast<std::byte*>(memory);
  buffers.each_ = each;
  return buffers;
}

Buffers::Buffers(Buffers&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      length_(std::exchange(other.length_, 0)),
      each_(other.each_) {}

Buffers::~Buffers() {
  if (memory_ != nullptr) munmap(memory_, length_);
}

}  // namespace stage_model::transfer
