// From a listing and what each rank already holds to who downloads and who sends which chunk.
// Pure and deterministic: every rank computes the same plan from the same input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/types.h"
#include "stage_model/result.h"

namespace stage_model::plan {

// A chunk travels in one MPI call whose count is an int; see field case M1.
inline constexpr std::uint64_t kMaxChunkSize = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMinChunkSize = 64 << 10;

// A set of ranks or chunks; index 0 is the lowest bit of word 0.
class Bits {
 public:
  Bits() = default;
  explicit Bits(std::size_t size) : size_(size), words_((size + 63) / 64) {}
  bool test(std::size_t i) const { return words_[i / 64] >> (i % 64) & 1; }
  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  std::size_t count() const;
  std::size_t size() const { return size_; }
  std::vector<std::uint64_t>& words() { return words_; }
  const std::vector<std::uint64_t>& words() const { return words_; }
  friend bool operator==(const Bits&, const Bits&) = default;

 private:
  std::size_t size_ = 0;
  std::vector<std::uint64_t> words_;
};

struct Layout {
  std::vector<Extent> extents;
  std::vector<Chunk> chunks;
};

inline constexpr std::uint32_t kSkip = UINT32_MAX;

// More ranks than this do not download unless told to: no store gives one client network more than
// 256 NICs take, and every downloader costs requests to the store and messages to rank 0.
inline constexpr std::size_t kMaxDownloaders = 256;

// `at_most` of the ranks that can read the source, evenly spread, ascending.
std::vector<std::uint32_t> choose_downloaders(const std::vector<std::uint32_t>& able,
                                              std::size_t at_most);

// About 64 chunks for each downloader, whatever the model's size: what one rank has in hand at the
// end is then a few per cent of its work, and so is what a slow rank holds up. A power of two
// between 512 KiB (a chunk costs messages) and 64 MiB (a buffer costs memory).
std::uint64_t default_chunk_size(std::uint64_t total_bytes, std::size_t downloaders);

// `best`, or the size that an earlier run had, perhaps on another number of nodes, if it is within
// a factor of four: what is cut alike can be taken up, and compared with what was recorded.
// longest_piece: of the files that it cut, in bytes; 0: none.
std::uint64_t chunk_size_as_before(std::uint64_t best, std::uint64_t longest_piece);

// The object groups for lay_out(): objects held by the same set of ranks form a group; those that
// every rank holds get kSkip. held[rank].test(object).
std::vector<std::uint32_t> group_by_holders(const std::vector<Bits>& held, std::size_t objects);

// Cuts big objects into equal aligned pieces of at most chunk_size, packs small ones together.
// `group[object]`: objects of different groups never share a chunk (they are held by different
// ranks); objects with group kSkip are left out. chunk_size: a multiple of kAlignment within
// [kMinChunkSize, kMaxChunkSize].
Layout lay_out(const Listing& listing, const std::vector<std::uint32_t>& group,
               std::uint64_t chunk_size);

struct Assignment {
  // Chunks that nobody holds: their owner downloads them. Largest first, by LPT.
  std::vector<std::vector<std::uint32_t>> shards;  // rank → chunks
  // Chunks that some but not all hold: a holder reads them from disk and is their root.
  std::vector<std::vector<std::uint32_t>> resends;  // rank → chunks
  std::vector<std::uint64_t> shard_bytes;           // rank → bytes to download
  // Who takes part in a chunk's broadcast: everyone, or for a chunk that is resent its root and the
  // ranks that lack it. Few sets, since each of more than two ranks costs a communicator.
  static constexpr std::uint32_t kEveryone = UINT32_MAX;
  std::vector<std::vector<std::uint32_t>> audiences;  // ranks, ascending
  std::vector<std::uint32_t> audience;  // chunk → index into audiences, or kEveryone
};

// holders[rank].test(chunk). downloaders: the ranks that may download, ascending.
// LPT: longest processing time first (Graham 1969): chunks by size descending, each to the rank
// with the least so far; ties by chunk and rank number.
// What some ranks hold: the kMaxSets commonest sets of lacking ranks (by bytes) get audiences of
// their own, each with up to kRootsPerSet roots; the rest goes to everyone, and who has the chunk
// throws it away.
inline constexpr std::size_t kMaxSets = 8;
inline constexpr std::size_t kRootsPerSet = 4;
Assignment assign(const Layout& layout, const std::vector<Bits>& holders,
                  const std::vector<std::uint32_t>& downloaders, std::size_t ranks);

// Numbers a person wants to see before a run.
struct Balance {
  std::uint64_t total_bytes = 0;     // of all objects
  std::uint64_t download_bytes = 0;  // that nobody holds
  std::uint64_t resend_bytes = 0;    // that some hold
  std::uint64_t shard_max = 0;
};
Balance balance(const Listing& listing, const Layout& layout, const Assignment& assignment);

}  // namespace stage_model::plan
