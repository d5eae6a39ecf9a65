#include "engine/plan/plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <queue>

namespace stage_model::plan {
namespace {

std::uint64_t round_up(std::uint64_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

using Ranks = std::vector<std::uint32_t>;

// Evenly spread, so that neighbours in the network are not all roots.
Ranks spread(const Ranks& having, std::size_t at_most) {
  if (having.size() <= at_most) return having;
  Ranks some;
  for (std::size_t i = 0; i < at_most; ++i) some.push_back(having[i * having.size() / at_most]);
  return some;
}

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

std::vector<std::uint32_t> choose_downloaders(const std::vector<std::uint32_t>& able,
                                              std::size_t at_most) {
  return spread(able, at_most);
}

namespace {
constexpr std::uint64_t kLeastDefault = 512 << 10;
constexpr std::uint64_t kMostDefault = 64 << 20;
}  // namespace

std::uint64_t default_chunk_size(std::uint64_t total_bytes, std::size_t downloaders) {
  const std::uint64_t wanted = total_bytes / (64 * std::max<std::size_t>(downloaders, 1));
  return std::clamp(std::bit_ceil(wanted), kLeastDefault, kMostDefault);
}

// Pieces are equal, so that each is longer than half a chunk.
std::uint64_t chunk_size_as_before(std::uint64_t best, std::uint64_t longest_piece) {
  if (longest_piece == 0 || longest_piece > kMostDefault) return best;
  const std::uint64_t before = std::bit_ceil(longest_piece);
  const bool fits = before >= kLeastDefault && before >= best / 4 && before <= best * 4;
  return fits ? before : best;
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

namespace {

Ranks holders_of(std::uint32_t chunk, const std::vector<Bits>& holders) {
  Ranks having;
  for (std::uint32_t rank = 0; rank < holders.size(); ++rank) {
    if (holders[rank].test(chunk)) having.push_back(rank);
  }
  return having;
}

// The sets of holders whose lacking ranks are worth a communicator: the biggest by bytes.
std::vector<Ranks> biggest_sets(const std::map<Ranks, std::uint64_t>& bytes, std::size_t ranks) {
  std::vector<std::pair<std::uint64_t, Ranks>> order;
  for (const auto& [having, sum] : bytes) {
    if (having.size() + 1 < ranks) order.emplace_back(sum, having);  // one lacking rank needs none
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Ranks> sets;
  for (std::size_t i = 0; i < std::min(order.size(), kMaxSets); ++i)
    sets.push_back(order[i].second);
  return sets;
}

// Sends what some ranks hold to those that lack it.
class Resends {
 public:
  Resends(Assignment& result, std::vector<Ranks> sets, std::size_t ranks)
      : result_(result), sets_(std::move(sets)), ranks_(ranks) {}

  void add(std::uint32_t chunk, const Ranks& having, std::uint64_t bytes) {
    const bool own_set = std::find(sets_.begin(), sets_.end(), having) != sets_.end();
    auto at = roots_.find(having);
    if (at == roots_.end()) {
      at = roots_.try_emplace(having, own_set ? spread(having, kRootsPerSet) : having).first;
    }
    const std::uint32_t root = at->second.give(bytes);
    result_.resends[root].push_back(chunk);
    if (own_set || having.size() + 1 == ranks_) result_.audience[chunk] = audience(having, root);
  }

 private:
  std::uint32_t audience(const Ranks& having, std::uint32_t root) {
    const auto [at, fresh] =
        numbers_.try_emplace({having, root}, static_cast<std::uint32_t>(result_.audiences.size()));
    if (fresh) {
      Ranks members;
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        if (rank == root || !std::binary_search(having.begin(), having.end(), rank))
          members.push_back(rank);
      }
      result_.audiences.push_back(std::move(members));
    }
    return at->second;
  }

  Assignment& result_;
  std::vector<Ranks> sets_;
  std::size_t ranks_;
  std::map<Ranks, LeastLoaded> roots_;
  std::map<std::pair<Ranks, std::uint32_t>, std::uint32_t> numbers_;
};

}  // namespace

Assignment assign(const Layout& layout, const std::vector<Bits>& holders,
                  const std::vector<std::uint32_t>& downloaders, std::size_t ranks) {
  Assignment result;
  result.shards.resize(ranks);
  result.resends.resize(ranks);
  result.shard_bytes.resize(ranks);
  result.audience.assign(layout.chunks.size(), Assignment::kEveryone);
  std::vector<std::uint32_t> order(layout.chunks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return layout.chunks[a].bytes > layout.chunks[b].bytes;
  });
  std::vector<Ranks> having(layout.chunks.size());
  std::map<Ranks, std::uint64_t> bytes_by_set;
  for (std::uint32_t chunk = 0; chunk < having.size(); ++chunk) {
    having[chunk] = holders_of(chunk, holders);
    if (!having[chunk].empty() && having[chunk].size() < ranks) {
      bytes_by_set[having[chunk]] += layout.chunks[chunk].bytes;
    }
  }
  LeastLoaded download(downloaders);
  Resends resends(result, biggest_sets(bytes_by_set, ranks), ranks);
  for (const std::uint32_t chunk : order) {
    if (having[chunk].size() == ranks) continue;
    const std::uint64_t bytes = layout.chunks[chunk].bytes;
    if (!having[chunk].empty()) {
      resends.add(chunk, having[chunk], bytes);
      continue;
    }
    const std::uint32_t rank = download.give(bytes);
    result.shards[rank].push_back(chunk);
    result.shard_bytes[rank] += bytes;
  }
  return result;
}

Balance balance(const Listing& listing, const Layout& layout, const Assignment& assignment) {
  Balance sum;
  for (const Object& object : listing.objects) sum.total_bytes += object.size;
  for (std::size_t rank = 0; rank < assignment.shards.size(); ++rank) {
    const std::uint64_t bytes = assignment.shard_bytes[rank];
    sum.download_bytes += bytes;
    for (const std::uint32_t chunk : assignment.resends[rank])
      sum.resend_bytes += layout.chunks[chunk].bytes;
    sum.shard_max = std::max(sum.shard_max, bytes);
  }
  return sum;
}

}  // namespace stage_model::plan
