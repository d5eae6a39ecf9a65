#include "engine/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stage_model/units.h"

namespace stage_model {
namespace {

constexpr std::uint64_t kMostMemory = std::uint64_t{2} << 30;
constexpr std::size_t kMostBuffers = 64;

// What a full chain of ranks has under way, in chunks: rate × latency, and a segment for each rank.
double chain(const Situation& situation) {
  const double under_way = situation.fabric.bytes_per_s * situation.fabric.chain_s +
                           static_cast<double>(situation.ranks * situation.segment);
  return under_way / static_cast<double>(std::max<std::uint64_t>(situation.chunk, 1));
}

// All roots together: twice that, but 32 MiB at least. A broadcast is on some links at a time only:
// with 8 × 512 KiB from 16 roots half of the links were idle (1.60 × the bound, not 1.09).
std::size_t broadcasts(const Situation& situation) {
  constexpr double kLeastBytes = 32 << 20;
  const double least =
      kLeastBytes / static_cast<double>(std::max<std::uint64_t>(situation.chunk, 1));
  return static_cast<std::size_t>(std::clamp(std::max(least, 2 * chain(situation)), 8.0, 64.0));
}

// One root: what its chain takes, and the next one ready; with 64 of a single root the last rank
// lagged by 12 s (1.37 × the bound, not 1.15). Holders that resend share one chain, the one through
// the ranks that lack something, whose first rank several at once would flood (1.39, not 1.17).
std::size_t broadcasts_of_root(const Situation& situation) {
  const double one = chain(situation);
  return static_cast<std::size_t>(
      situation.resenders > 1
          ? std::clamp(one / static_cast<double>(situation.resenders), 1.0, 64.0)
          : std::clamp(one, 2.0, 64.0));
}

// A thread receives and decrypts 1.5 to 2 GB/s of TLS, so a store's 100 Gb/s are for eight. Of the
// CPUs an eighth: the others hash, write and broadcast what comes.
unsigned receivers(const Situation& situation, unsigned concurrency) {
  constexpr std::size_t kCpusForEach = 8, kMost = 8;
  constexpr double kBytesOfEach = 1e9;  // per second, at least
  std::size_t threads = std::min({situation.cpus / kCpusForEach, kMost, std::size_t{concurrency}});
  if (situation.max_bandwidth > 0) {
    threads = static_cast<std::size_t>(
        std::min(static_cast<double>(threads), std::ceil(situation.max_bandwidth / kBytesOfEach)));
  }
  return static_cast<unsigned>(std::max<std::size_t>(threads, 1));
}

}  // namespace

Tuning choose(Tuning given, const Situation& situation) {
  Tuning chosen = given;
  if (chosen.memory == 0) chosen.memory = std::min(kMostMemory, situation.node_memory / 8);
  // Half of the memory each way; what is too little for one buffer of each kind still gets one.
  const auto fit = static_cast<std::size_t>(std::clamp<std::uint64_t>(
      chosen.memory / std::max<std::uint64_t>(situation.chunk, 1) / 2, 1, kMostBuffers));
  if (chosen.receive_buffers == 0) chosen.receive_buffers = fit;
  if (chosen.download_buffers == 0) chosen.download_buffers = fit;
  if (chosen.pipeline == 0) chosen.pipeline = broadcasts(situation);
  if (chosen.per_root == 0)
    chosen.per_root = std::min(broadcasts_of_root(situation), chosen.pipeline);
  // A connection to a store gives 50-100 MB/s, so that few ranks need more of them each.
  if (chosen.concurrency == 0) {
    chosen.concurrency = static_cast<unsigned>(
        std::clamp<std::size_t>(512 / std::max<std::size_t>(situation.downloaders, 1), 16, 64));
  }
  if (chosen.http_threads == 0) chosen.http_threads = receivers(situation, chosen.concurrency);
  return chosen;
}

std::string describe(const Tuning& tuning, const Situation& situation, unsigned writers,
                     double disk_bytes_per_s) {
  std::string text = fmt::format(
      "chunks of {}, {} + {} buffers, {} broadcasts in flight ({} of a root), {} writers, {} GETs "
      "by {} thread(s) on each of {} ranks",
      format_size(situation.chunk), tuning.receive_buffers, tuning.download_buffers,
      tuning.pipeline, tuning.per_root, writers, tuning.concurrency, tuning.http_threads,
      situation.downloaders);
  if (situation.fabric.bytes_per_s > 0) {
    text += fmt::format("; fabric {:.3g} GB/s, {:.2g} ms deep", situation.fabric.bytes_per_s / 1e9,
                        situation.fabric.chain_s * 1e3);
  }
  if (disk_bytes_per_s > 0) text += fmt::format("; a write {:.3g} GB/s", disk_bytes_per_s / 1e9);
  return text;
}

}  // namespace stage_model
