// What can be set of the transfer. engine/tune.h chooses what is not given.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stage_model::transfer {

// kStaged is the schedule of other tools, for honest comparison: staged_scheduler.h.
enum class Schedule { kSequenced, kStaged };
enum class Verify { kNone, kTransfer, kStore, kDisk };

struct SchedulerOptions {
  std::uint64_t chunk_size = 16 << 20;  // bytes, of the longest chunk
  std::size_t receive_buffers = 16;     // at least 1
  std::size_t download_buffers = 8;     // at least 1
  std::size_t downloading = 16;         // chunks being fetched at once, at most
  std::size_t pipeline = 8;             // broadcasts in flight
  std::size_t per_root = 4;             // of them, those of one root; at least 1
  bool take_over = true;                // idle downloaders take the tail of slow ones
  double stall_timeout_s = 300;         // nothing at all moved on this rank
};

struct Options {
  SchedulerOptions scheduler;
  Schedule schedule = Schedule::kSequenced;
  Verify verify = Verify::kTransfer;
  int lanes = 8;         // communicators
  unsigned hashers = 2;  // threads
};

}  // namespace stage_model::transfer
