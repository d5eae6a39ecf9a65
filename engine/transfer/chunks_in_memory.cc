#include "engine/transfer/chunks_in_memory.h"

namespace stage_model::transfer {

BufferPool::BufferPool(std::size_t count) {
  free_.reserve(count);
  for (std::size_t i = count; i-- > 0;) free_.push_back(static_cast<std::uint32_t>(i));
}

std::uint32_t BufferPool::acquire() {
  const std::uint32_t index = free_.back();
  free_.pop_back();
  return index;
}

ChunkInMemory& ChunksInMemory::add(std::uint32_t chunk, Pool pool) {
  ChunkInMemory& here = chunks_[chunk];
  here.buffer = {pool, this->pool(pool).acquire()};
  return here;
}

void ChunksInMemory::remove(std::uint32_t chunk) {
  const auto at = chunks_.find(chunk);
  pool(at->second.buffer.pool).release(at->second.buffer.index);
  chunks_.erase(at);
}

}  // namespace stage_model::transfer
