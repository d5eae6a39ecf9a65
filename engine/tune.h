// What the engine chooses by itself, and from what. Pure arithmetic; docs/tuning.md has the
// reasons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/mpi/probe.h"

namespace stage_model {

// A value of 0 is to be chosen; others were given as options and stay.
struct Tuning {
  std::uint64_t memory = 0;  // bytes, for all chunk buffers of a rank
  std::size_t receive_buffers = 0, download_buffers = 0;
  std::size_t pipeline = 0;   // broadcasts in flight
  std::size_t per_root = 0;   // of them, those of one root
  unsigned concurrency = 0;   // GETs in flight on each rank that downloads
  unsigned http_threads = 0;  // that receive them
};

struct Situation {
  std::uint64_t chunk = 0;  // bytes, the longest there is
  std::size_t ranks = 1, downloaders = 1;
  std::size_t resenders = 0;      // ranks that send what they hold, if nothing is downloaded
  std::uint64_t node_memory = 0;  // bytes
  std::size_t cpus = 1;           // that this rank may use
  double max_bandwidth = 0;       // bytes/s from the source, for this rank; 0: no limit
  std::uint64_t segment = 0;      // bytes that a rank of the chain receives before it sends on
  mpi::FabricSpeed fabric;
};

Tuning choose(Tuning given, const Situation& situation);

// The rest of the `[tune]` line. disk_bytes_per_s: of the slowest rank; 0: not known.
std::string describe(const Tuning& tuning, const Situation& situation, unsigned writers,
                     double disk_bytes_per_s);

}  // namespace stage_model
