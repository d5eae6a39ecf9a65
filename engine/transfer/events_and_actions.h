// What a scheduler is told, and what it wants done.
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "engine/transfer/chunks_in_memory.h"
#include "engine/transfer/messages.h"
#include "stage_model/result.h"

namespace stage_model::transfer {

// Each Fetch, Read, Hash, Write and Broadcast is answered by exactly one Fetched (Fetch, Read),
// Hashed, Written or BroadcastDone, whatever else happens, as long as the run is not given up.
namespace event {

// A chunk is in memory, whole, or cannot be had.
struct Fetched {
  std::uint32_t chunk = 0;
  Status status;
};
struct Hashed {
  std::uint32_t chunk = 0;
  Status status;                         // does it have the hash that the store or the disk states
  std::array<std::uint64_t, 2> check{};  // what the ranks compare
};
struct Written {
  std::uint32_t chunk = 0;
  Status status;
};
struct BroadcastDone {
  std::uint32_t chunk = 0;
};
// From any rank, in the order in which that rank sent them. What comes down the tree was forwarded
// already, and comes from whichever rank forwarded it.
struct Received {
  std::uint32_t from = 0;
  Message message;
};
// Something failed here that no other event tells (yet): of a chunk that is fetched in parts, the
// first part. Its Fetched follows when all parts have ended.
struct Failed {
  Error error;
};
// A person or a deadline wants the run to end. Once is enough; more do no harm.
struct StopRequested {
  Error error;
};
// The time is next_tick() or later (sooner does no harm).
struct Tick {
  // Grows whenever the source gives this rank anything, say bytes and answers; of no meaning but
  // that. 0 after EndFetching.
  std::uint64_t source_progress = 0;
};

}  // namespace event

using Event = std::variant<event::Fetched, event::Hashed, event::Written, event::BroadcastDone,
                           event::Received, event::Failed, event::StopRequested, event::Tick>;

namespace action {

// Gets the chunk from the source.
struct Fetch {
  std::uint32_t chunk = 0;
  Buffer buffer;
};
// Reads the chunk from this rank's disk.
struct Read {
  std::uint32_t chunk = 0;
  Buffer buffer;
};
// Computes the chunk's check, and compares it with what is known of it: who fetched it with the
// store's hash, who read it with what is on record.
struct Hash {
  enum class From : std::uint8_t { kSource, kDisk, kBroadcast };
  std::uint32_t chunk = 0;
  Buffer buffer;
  From from = From::kSource;
};
struct Write {
  std::uint32_t chunk = 0;
  Buffer buffer;
};
// Takes part in a broadcast: as root it sends from the buffer, else it receives into it. Every rank
// of the audience posts the same numbers in the same order.
struct Broadcast {
  std::uint64_t number = 0;  // in the list
  std::uint32_t chunk = 0;
  std::uint32_t root = 0;
  std::uint32_t audience = 0;  // Assignment::audience
  Buffer buffer;
};
struct Send {
  std::uint32_t to = 0;
  Message message;
};
// Rank 0: to every other rank, in the order of sending, also among those that are sent to one.
struct SendToAll {
  Message message;
};
// Ends the fetcher, without waiting for it: what is outstanding is answered by failures. Once.
struct EndFetching {};
// The end is near, and why is known: for so many seconds a wait need not heed that a stop is
// requested.
struct Finishing {
  double seconds = 0;
};
// The last one: this rank needs nothing more of the others. They may still need messages forwarded
// by it, so it waits until all are here, and goes on handing over what it receives. Then failure()
// is agreed upon, unless ended_by() says that all know.
struct Leave {};
// Ends every rank, hard and at once: what waits here cannot be waited for. Nothing follows.
struct GiveUp {
  Error error;
};

}  // namespace action

using Action = std::variant<action::Fetch, action::Read, action::Hash, action::Write,
                            action::Broadcast, action::Send, action::SendToAll, action::EndFetching,
                            action::Finishing, action::Leave, action::GiveUp>;

}  // namespace stage_model::transfer
