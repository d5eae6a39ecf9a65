#include "tests/simulation/ranks/scenario.h"

#include <fmt/format.h>

#include <algorithm>

namespace stage_model::simulation {

ExitCode code_of(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::kSourceError:
      return ExitCode::kTransfer;
    case Fault::Kind::kWrongHash:
    case Fault::Kind::kCorrupt:
      return ExitCode::kIntegrity;
    case Fault::Kind::kDiskError:
    case Fault::Kind::kReadError:
      return ExitCode::kDestination;
    default:
      return ExitCode::kStopped;
  }
}

const char* name_of(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::kSourceError:
      return "source error";
    case Fault::Kind::kSourceHang:
      return "source hang";
    case Fault::Kind::kSourcePause:
      return "source pause";
    case Fault::Kind::kWrongHash:
      return "wrong hash";
    case Fault::Kind::kDiskError:
      return "disk error";
    case Fault::Kind::kDiskHang:
      return "disk hang";
    case Fault::Kind::kReadError:
      return "read error";
    case Fault::Kind::kCorrupt:
      return "corrupt broadcast";
    case Fault::Kind::kCancel:
      return "cancel";
    case Fault::Kind::kDeadline:
      return "deadline";
    case Fault::Kind::kLost:
      return "lost node";
  }
  return "";
}

void plan_scenario(Scenario& scenario, const std::vector<plan::Bits>& held_objects) {
  const std::size_t objects = scenario.listing.objects.size();
  scenario.layout = plan::lay_out(scenario.listing, plan::group_by_holders(held_objects, objects),
                                  scenario.chunk_size);
  const auto& chunks = scenario.layout.chunks;
  scenario.holders.assign(scenario.ranks, plan::Bits(chunks.size()));
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    for (std::uint32_t r = 0; r < scenario.ranks; ++r) {
      if (held_objects[r].test(scenario.layout.extents[chunks[c].first_extent].object))
        scenario.holders[r].set(c);
    }
  }
  scenario.assignment =
      plan::assign(scenario.layout, scenario.holders, scenario.downloaders, scenario.ranks);
}

namespace {

std::uint32_t draw_ranks(Random& random) {
  const double kind = random.fraction();
  if (kind < 0.04) return 1;
  if (kind < 0.75) return static_cast<std::uint32_t>(random.between(2, 7));
  if (kind < 0.95) return static_cast<std::uint32_t>(random.between(8, 20));
  return static_cast<std::uint32_t>(random.between(21, 64));
}

std::vector<plan::Bits> draw_holders(Random& random, std::uint32_t ranks, std::size_t objects) {
  std::vector<plan::Bits> held(ranks, plan::Bits(objects));
  const double kind = random.fraction();
  if (kind < 0.55) return held;  // a first run
  const double holds = random.fraction();
  const auto one = static_cast<std::uint32_t>(random.below(ranks));
  // Few sets of holders, as there are in life, or any.
  std::vector<plan::Bits> sets(1 + random.below(3), plan::Bits(ranks));
  for (plan::Bits& set : sets) {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      if (random.chance(0.5)) set.set(r);
    }
  }
  for (std::size_t i = 0; i < objects; ++i) {
    const plan::Bits& set = random.one_of(sets);
    const bool some = random.chance(holds);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const bool has = kind < 0.7   ? some && set.test(r)
                       : kind < 0.8 ? random.chance(holds)
                       : kind < 0.9 ? r != one   // one lacks everything
                                    : r == one;  // one holds everything
      if (has) held[r].set(i);
    }
  }
  return held;
}

void draw_faults(Random& random, Scenario& scenario, double seconds) {
  using Kind = Fault::Kind;
  static const std::vector<Kind> kinds = {Kind::kSourceError, Kind::kSourceError, Kind::kSourceHang,
                                          Kind::kSourcePause, Kind::kWrongHash,   Kind::kDiskError,
                                          Kind::kDiskError,   Kind::kDiskHang,    Kind::kReadError,
                                          Kind::kCorrupt,     Kind::kCancel,      Kind::kDeadline};
  const double kind = random.fraction();
  const int count = kind < 0.4 ? 0 : kind < 0.75 ? 1 : static_cast<int>(random.between(2, 4));
  std::uint64_t total = 0;
  for (const plan::Chunk& chunk : scenario.layout.chunks) total += chunk.bytes;
  for (int i = 0; i < count; ++i) {
    Fault fault;
    fault.kind = random.chance(0.03) ? Kind::kLost : random.one_of(kinds);
    fault.rank = random.chance(0.3) ? 0 : static_cast<std::uint32_t>(random.below(scenario.ranks));
    const bool fetches = fault.kind == Kind::kSourceError || fault.kind == Kind::kSourceHang ||
                         fault.kind == Kind::kSourcePause || fault.kind == Kind::kWrongHash;
    const std::uint64_t most = fetches ? 1 + total / scenario.downloaders.size() : total + 1;
    fault.after = random.chance(0.2) ? 0 : random.below(most);
    if (random.chance(0.15)) fault.after = most - std::min(most, scenario.chunk_size);
    fault.seconds = seconds * random.real(0, 1.2);
    if (fault.kind == Kind::kSourcePause)
      fault.seconds = scenario.stall_timeout_s * random.real(0, 0.4);
    scenario.faults.push_back(fault);
  }
}

}  // namespace

Scenario random_scenario(Random& random, std::uint32_t nodes) {
  Scenario scenario;
  const std::uint32_t ranks = nodes > 0 ? nodes : draw_ranks(random);
  scenario.ranks = ranks;
  scenario.chunk_size = 64 << 10;
  const int objects = static_cast<int>(random.between(1, ranks > 20 ? 20 : 50));
  for (int i = 0; i < objects; ++i) {
    const std::uint64_t most = std::uint64_t{1} << random.between(8, 19);
    scenario.listing.objects.push_back({fmt::format("{:03}", i), "", random.below(most), "", {}});
  }
  std::vector<std::uint32_t> able(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) able[r] = r;
  if (random.chance(0.15)) {  // not all can read the source
    const auto keep = static_cast<std::uint32_t>(random.below(ranks));
    std::erase_if(able, [&](std::uint32_t r) { return r != keep && random.chance(0.5); });
  }
  scenario.downloaders = plan::choose_downloaders(
      able, random.chance(0.6) ? plan::kMaxDownloaders : 1 + random.below(able.size()));
  plan_scenario(scenario, draw_holders(random, ranks, static_cast<std::size_t>(objects)));

  const auto few = [&](std::int64_t most) {
    return static_cast<std::size_t>(random.chance(0.4) ? 1 : random.between(1, most));
  };
  scenario.receive_buffers = few(8);
  scenario.download_buffers = few(8);
  scenario.downloading = few(16);
  scenario.pipeline = few(12);
  scenario.per_root = few(6);
  scenario.lanes = static_cast<int>(few(6));
  scenario.take_over = random.chance(0.7);
  scenario.staged = random.chance(0.15);
  scenario.stall_timeout_s = random.chance(0.8) ? 4 : 40;

  NetworkModel& network = scenario.network;
  network.broadcast =
      random.one_of<Broadcast>({Broadcast::kChain, Broadcast::kSynchronizing, Broadcast::kEager});
  network.jitter = random.chance(0.5) ? from_seconds(random.real(0, 5e-3)) : 0;
  network.message_cost = random.chance(0.3) ? 10 * kMicrosecond : 0;
  network.rate.assign(ranks, random.one_of<double>({1e7, 1e8, 1e9}));
  SourceModel& source = scenario.source;
  source.link.assign(ranks, random.one_of<double>({3e6, 3e7, 3e8}));
  source.egress = source.link[0] * random.real(0.5, 1.0 + ranks);
  if (random.chance(0.3)) source.link[random.below(ranks)] /= 30;
  scenario.trickles = !scenario.staged && random.chance(0.04);
  // At least one and a half times the stall limit for a full chunk.
  if (scenario.trickles) {
    scenario.stall_timeout_s = 4;
    source.egress = 1e12;
    for (double& link : source.link) link = 65536 / (4 * random.real(1.5, 3));
  }
  DiskModel& disk = scenario.disk;
  disk.writers = static_cast<unsigned>(random.between(1, 4));
  disk.jitter = random.chance(0.5) ? random.real(0, 5) : 0;
  disk.rate.assign(ranks, random.one_of<double>({1e7, 1e8, 1e9}));
  if (random.chance(0.3)) disk.rate[random.below(ranks)] /= 10;
  scenario.hash_rate = random.chance(0.5) ? 1e9 : 1e8;

  std::uint64_t total = 0;
  for (const plan::Chunk& chunk : scenario.layout.chunks) total += chunk.bytes;
  const double bytes = static_cast<double>(total);
  // A root whose broadcast waits for another rank's slow disk sees nothing move meanwhile; see
  // "What it has found" in ../README.md. So the limit is longer than the slowest disk takes for
  // all.
  if (scenario.trickles) {
    disk.rate.assign(ranks, 1e9);
    disk.jitter = 0;
  }
  const double slowest = *std::min_element(disk.rate.begin(), disk.rate.end());
  const double disk_takes = bytes * (1 + disk.jitter) / slowest;
  if (disk_takes > scenario.stall_timeout_s / 4) scenario.stall_timeout_s = 8 * disk_takes;
  // Nor do ranks that download nothing during the staged schedule's first half.
  const double link = *std::min_element(source.link.begin(), source.link.end());
  const double source_takes = bytes / std::min(link, source.egress);
  if (scenario.staged && !scenario.trickles && source_takes > scenario.stall_timeout_s / 4)
    scenario.stall_timeout_s = 8 * source_takes;
  draw_faults(random, scenario,
              std::max({bytes / source.egress, bytes / source.link[0] / ranks, bytes / disk.rate[0],
                        bytes / network.rate[0], 0.01}));
  return scenario;
}

std::string describe(const Scenario& scenario) {
  std::string text = fmt::format(
      "{} ranks, {} chunks, {} download, {} + {} buffers, {} at once, {} in flight, {} of a root, "
      "{} lanes{}{}{}, stall limit {} s, broadcasts {}",
      scenario.ranks, scenario.layout.chunks.size(), scenario.downloaders.size(),
      scenario.receive_buffers, scenario.download_buffers, scenario.downloading, scenario.pipeline,
      scenario.per_root, scenario.lanes, scenario.take_over ? ", taken over" : "",
      scenario.staged ? ", staged" : "", scenario.trickles ? ", trickles" : "",
      scenario.stall_timeout_s, static_cast<int>(scenario.network.broadcast));
  for (const Fault& fault : scenario.faults) {
    text += fmt::format("; {} on rank {} after {} bytes, {:.3f} s", name_of(fault.kind), fault.rank,
                        fault.after, fault.seconds);
  }
  return text;
}

}  // namespace stage_model::simulation
