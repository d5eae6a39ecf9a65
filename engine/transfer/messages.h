// The small messages between the schedulers of the ranks, beside the data. Pure: engine/mpi carries
// their bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/transfer/sequencer.h"
#include "stage_model/result.h"

namespace stage_model::transfer::message {

// ---- to rank 0

struct RequestChunks {  // a downloader has room for so many more
  std::uint32_t count = 0;
};
struct ChunkReady {  // a root has it in memory
  Entry entry;
};
struct RankFailed {  // this rank cannot go on
  Cause cause;
};
struct ShardOnDisk {};  // staged schedule: all that this rank was to download

// ---- from rank 0 to one

struct GrantChunks {  // fewer than requested: there are no more
  std::vector<std::uint32_t> chunks;
  std::uint32_t requested = 0;
};

// ---- from rank 0 to all

struct NextBroadcasts {
  std::vector<Entry> entries;
};
struct EndOfList {  // no entry follows, because of this
  Cause cause;
};
struct StartBroadcasts {};  // staged schedule: every rank's shard is on disk

// ---- to rank 0, and from it to all

// A source still gives a rank something, though no chunk is whole yet.
struct SourceAlive {};

}  // namespace stage_model::transfer::message

namespace stage_model::transfer {

using Message = std::variant<message::RequestChunks, message::GrantChunks, message::ChunkReady,
                             message::RankFailed, message::NextBroadcasts, message::EndOfList,
                             message::ShardOnDisk, message::StartBroadcasts, message::SourceAlive>;

std::string encode(const Message& message);
// False for bytes that encode() did not make.
bool decode(std::string_view bytes, Message* message);

}  // namespace stage_model::transfer
