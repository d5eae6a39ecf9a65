// The chunks that this rank has in memory, and the buffers that they are in. Bounded on purpose: a
// full pool is the back-pressure from the disk to the source. Which memory a buffer is, the driver
// knows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace stage_model::transfer {

// Receive buffers are never lent to downloads: a rank whose buffers were all full of its own chunks
// could not receive the broadcast that everyone waits for.
enum class Pool : std::uint8_t { kDownload, kReceive };

struct Buffer {
  Pool pool = Pool::kDownload;
  std::uint32_t index = 0;  // in its pool
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

class BufferPool {
 public:
  explicit BufferPool(std::size_t count);

  std::size_t available() const { return free_.size(); }
  std::uint32_t acquire();  // where one is available
  void release(std::uint32_t index) { free_.push_back(index); }

 private:
  std::vector<std::uint32_t> free_;
};

// A chunk's life. Ours (this rank is its root): fetched or read, hashed, announced, broadcast, and
// written meanwhile. Another's: broadcast, hashed, written.
struct ChunkInMemory {
  Buffer buffer;
  bool from_disk = false;  // of this rank, which holds it
  bool fetching = false;   // or being read
  bool hashing = false;
  bool writing = false;
  bool stored = false;                   // given to the disk, or not needed there
  bool posted = false;                   // its broadcast has begun
  bool broadcast_done = false;           // or not needed
  double began = 0;                      // its fetch, seconds
  std::array<std::uint64_t, 2> check{};  // what its root says of it

  bool ours() const { return buffer.pool == Pool::kDownload; }
  bool over() const { return stored && !writing && broadcast_done; }
};

class ChunksInMemory {
 public:
  ChunksInMemory(std::size_t download_buffers, std::size_t receive_buffers)
      : download_(download_buffers), receive_(receive_buffers) {}

  bool room(Pool pool) const { return available(pool) > 0; }
  // room(pool), and the chunk is not here.
  ChunkInMemory& add(std::uint32_t chunk, Pool pool);
  ChunkInMemory& at(std::uint32_t chunk) { return chunks_.at(chunk); }
  // Frees its buffer.
  void remove(std::uint32_t chunk);

  bool empty() const { return chunks_.empty(); }
  // By chunk number, so that nothing depends on chance.
  const std::map<std::uint32_t, ChunkInMemory>& all() const { return chunks_; }
  std::map<std::uint32_t, ChunkInMemory>& all() { return chunks_; }
  std::size_t available(Pool pool) const {
    return (pool == Pool::kDownload ? download_ : receive_).available();
  }

 private:
  BufferPool& pool(Pool pool) { return pool == Pool::kDownload ? download_ : receive_; }

  BufferPool download_, receive_;
  std::map<std::uint32_t, ChunkInMemory> chunks_;
};

}  // namespace stage_model::transfer
