// Rank 0's list of what is broadcast next, and who downloads what. Why it exists:
// docs/architecture.md, "Why a sequencer".
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

namespace stage_model::transfer {

// "Chunk c, from root r, comes next": the one order in which every rank posts broadcasts.
struct Entry {
  std::uint32_t chunk = 0;
  std::uint32_t root = 0;
  std::array<std::uint64_t, 2> check{};  // the root's digest of the chunk
};

class Sequencer {
 public:
  // shards[rank]: chunks that rank downloads by plan. take_over: may an idle downloader take the
  // tail of another's shard? chunks: how many entries the list will have when nothing fails.
  Sequencer(const std::vector<std::vector<std::uint32_t>>& shards, std::size_t chunks,
            bool take_over);

  // The next chunks for `rank` to download: its own shard first, then the tail of the fullest one.
  // Fewer than `want` (even none): there is no work left for it.
  std::vector<std::uint32_t> grant(std::uint32_t rank, std::uint32_t want);

  // A chunk is in its root's memory, and comes next. False: the list has stopped, it never will.
  bool announce();

  // Ends the list, unless it is complete (then what is sequenced can still finish everywhere) or
  // stopped already. True: the caller tells all ranks.
  bool stop();

  bool complete() const { return sequenced_ == chunks_; }
  bool stopped() const { return stopped_; }
  std::uint64_t taken_over() const { return taken_over_; }

 private:
  std::vector<std::deque<std::uint32_t>> left_;
  std::size_t chunks_;
  std::size_t sequenced_ = 0;
  std::uint64_t taken_over_ = 0;
  bool take_over_;
  bool stopped_ = false;
};

}  // namespace stage_model::transfer
