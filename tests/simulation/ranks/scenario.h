// One run of the ranks' simulator: who stages what, with which options, over what, and what goes
// wrong. Plain values, made from a seed (random_scenario) or by hand (a test, the tables).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "stage_model/exit_code.h"
#include "tests/simulation/base/random.h"
#include "tests/simulation/base/virtual_time.h"

namespace stage_model::simulation {

// What MPI allows a broadcast to be. A program that is right is right under each of them.
enum class Broadcast {
  kChain,          // Open MPI's pipeline: each rank forwards to the next, segment by segment
  kSynchronizing,  // nobody is done before everybody has begun
  kEager,          // the root is done at once, whoever has begun
};

struct NetworkModel {
  Broadcast broadcast = Broadcast::kChain;
  Time latency = 10 * kMicrosecond;  // of a message
  Time jitter = 0;                   // up to so much more
  Time message_cost = 0;             // of a rank's time, to receive or send one
  Time hop = 5 * kMicrosecond;       // of a segment through a rank, without its bytes
  std::uint64_t segment = 64 << 10;  // bytes
  std::vector<double> rate;          // rank → bytes/s, each direction
};

struct SourceModel {
  double egress = 1e12;             // bytes/s, of all ranks together
  std::vector<double> link;         // rank → bytes/s
  Time request = 1 * kMillisecond;  // until a GET's first byte
};

struct DiskModel {
  unsigned writers = 2;
  double jitter = 0;         // a write takes up to (1 + jitter) times its time
  std::vector<double> rate;  // rank → bytes/s, all writers together; 0: no time at all
};

struct Fault {
  enum class Kind {
    kSourceError,  // a GET fails
    kSourceHang,   // a GET does not come back, nor does the fetcher's end
    kSourcePause,  // a GET stands still for `seconds`, which is less than the stall limit
    kWrongHash,    // what was fetched has not the store's hash
    kDiskError,    // a write fails
    kDiskHang,     // a write does not come back
    kReadError,    // a holder cannot read what it should resend
    kCorrupt,      // a chunk arrives with other bytes than were sent
    kCancel,       // the rank is asked to stop at `seconds`
    kDeadline,     // all ranks are asked to stop at `seconds`, each within a millisecond
    kLost,         // the node dies at `seconds`
  };
  Kind kind = Kind::kSourceError;
  std::uint32_t rank = 0;
  std::uint64_t after = 0;  // bytes that the rank has fetched, written or received till then
  double seconds = 0;
};

// Of the code and the words that the rank gives as its cause.
ExitCode code_of(Fault::Kind kind);
const char* name_of(Fault::Kind kind);

struct Scenario {
  std::uint32_t ranks = 1;
  plan::Listing listing;
  std::uint64_t chunk_size = 0;
  plan::Layout layout;
  std::vector<plan::Bits> holders;         // rank → chunks
  std::vector<std::uint32_t> downloaders;  // ascending
  plan::Assignment assignment;

  std::size_t receive_buffers = 1, download_buffers = 1, downloading = 1;
  std::size_t pipeline = 8, per_root = 4;
  int lanes = 1;
  bool take_over = true;
  bool staged = false;
  double stall_timeout_s = 4;

  NetworkModel network;
  SourceModel source;
  DiskModel disk;
  double hash_rate = 0;   // bytes/s; 0: no time at all
  bool trickles = false;  // the source is so slow that a chunk takes longer than the stall limit

  std::vector<Fault> faults;
};

// Completes chunks, holders and assignment from listing, chunk_size and who holds which objects.
void plan_scenario(Scenario& scenario, const std::vector<plan::Bits>& held_objects);

// nodes: 0: drawn, most of the time few.
Scenario random_scenario(Random& random, std::uint32_t nodes);

// For the head of a trace.
std::string describe(const Scenario& scenario);

}  // namespace stage_model::simulation
