#include "engine/plan/plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <queue>

namespace stage_model::plan {
namespace {

std::uint64_t round_up(std::uint64_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

// Gives each chunk in turn to the least loaded of `ranks`.
class LeastLoaded {
 public:
  explicit LeastLoaded(const std::vector<std::uint32_t>& ranks) {
    for (const std::uint32_t rank : ranks) queue_.emplace(0, rank);
  }
  std::uint32_t give(std::uint64_t bytes) {
    const auto [load, rank] = queue_.top();
    queue_.pop();
    queue_.emplace(load + bytes, rank);
    return rank;
  }

 private:
  using Entry = std::pair<std::uint64_t, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

std::size_t Bits::count() const {
  return std::accumulate(words_.begin(), words_.end(), std::size_t{0},
                         [](std::size_t n, std::uint64_t word) { return n + std::popcount(word); });
}

std::uint64_t default_chunk_size(std::uint64_t total_bytes, std::size_t ranks) {
  const std::uint64_t wanted = total_bytes / (8 * std::max<std::size_t>(ranks, 1));
  return std::clamp(std::bit_ceil(wanted), std::uint64_t{256} << 10, std::uint64_t{64} << 20);
}

std::vector<std::uint32_t> group_by_holders(const std::vector<Bits>& held, std::size_t objects) {
  std::vector<std::uint32_t> group(objects);
  std::map<std::vector<std::uint32_t>, std::uint32_t> groups;
  for (std::size_t object = 0; object < objects; ++object) {
    std::vector<std::uint32_t> holders;
    for (std::uint32_t rank = 0; rank < held.size(); ++rank) {
      if (held[rank].test(object)) holders.push_back(rank);
    }
    group[object] =
        holders.size() == held.size()
            ? kSkip
            : groups.try_emplace(std::move(holders), static_cast<std::uint32_t>(groups.size()))
                  .first->second;
  }
  return group;
}

Layout lay_out(const Listing& listing, const std::vector<std::uint32_t>& group,
               std::uint64_t chunk_size) {
  Layout layout;
  auto add = [&](std::uint32_t object, std::uint64_t offset, std::uint64_t length, bool fresh) {
    if (fresh)
      layout.chunks.push_back({static_cast<std::uint32_t>(layout.extents.size()), 0, 0, 0});
    Chunk& chunk = layout.chunks.back();
    const std::uint64_t at = round_up(chunk.length);
    layout.extents.push_back({object, offset, length, at});
    ++chunk.extent_count;
    chunk.bytes += length;
    chunk.length = at + length;
  };
  std::map<std::uint32_t, std::vector<std::uint32_t>> small;  // by group, in name order
  for (std::uint32_t i = 0; i < listing.objects.size(); ++i) {
    const std::uint64_t size = listing.objects[i].size;
    if (group[i] == kSkip || size == 0) continue;
    if (size <= chunk_size) {
      small[group[i]].push_back(i);
      continue;
    }
    // Equal pieces: a full-sized chunk with a tiny tail behind it balances worse.
    const std::uint64_t pieces = (size + chunk_size - 1) / chunk_size;
    const std::uint64_t piece = round_up((size + pieces - 1) / pieces);
    for (std::uint64_t offset = 0; offset < size; offset += piece) {
      add(i, offset, std::min(piece, size - offset), true);
    }
  }
  for (const auto& [key, objects] : small) {
    bool fresh = true;
    for (const std::uint32_t i : objects) {
      const std::uint64_t size = listing.objects[i].size;
      if (!fresh && round_up(layout.chunks.back().length) + size > chunk_size) fresh = true;
      add(i, 0, size, fresh);
      fresh = false;
    }
  }
  return layout;
}

Assignment assign(const Layout& layout, const std::vector<Bits>& holders,
                  const std::vector<std::uint32_t>& downloaders, std::size_t ranks) {
  Assignment result;
  result.shards.resize(ranks);
  result.resends.resize(ranks);
  result.shard_bytes.resize(ranks);
  std::vector<std::uint32_t> order(layout.chunks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return layout.chunks[a].bytes > layout.chunks[b].bytes;
  });
  LeastLoaded download(downloaders);
  std::map<std::vector<std::uint32_t>, LeastLoaded> resend;
  for (const std::uint32_t chunk : order) {
    std::vector<std::uint32_t> having;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      if (holders[rank].test(chunk)) having.push_back(rank);
    }
    if (having.size() == ranks) continue;
    const std::uint64_t bytes = layout.chunks[chunk].bytes;
    if (having.empty()) {
      const std::uint32_t rank = download.give(bytes);
      result.shards[rank].push_back(chunk);
      result.shard_bytes[rank] += bytes;
    } else {
      auto at = resend.try_emplace(having, having).first;
      result.resends[at->second.give(bytes)].push_back(chunk);
    }
  }
  return result;
}

Balance balance(const Listing& listing, const Layout& layout, const Assignment& assignment) {
  Balance sum;
  for (const Object& object : listing.objects) sum.total_bytes += object.size;
  bool first = true;
  for (std::size_t rank = 0; rank < assignment.shards.size(); ++rank) {
    const std::uint64_t bytes = assignment.shard_bytes[rank];
    sum.download_bytes += bytes;
    for (const std::uint32_t chunk : assignment.resends[rank])
      sum.resend_bytes += layout.chunks[chunk].bytes;
    if (bytes == 0) continue;  // a rank that does not download is not out of balance
    sum.shard_min = first ? bytes : std::min(sum.shard_min, bytes);
    sum.shard_max = std::max(sum.shard_max, bytes);
    first = false;
  }
  return sum;
}

}  // namespace stage_model::plan
