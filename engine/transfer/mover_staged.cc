// Mover: the staged schedule, which other tools have (Schedule::kStaged).

#include <algorithm>

#include "engine/transfer/mover.h"

namespace stage_model::transfer {

bool Mover::on_disk(std::uint32_t chunk) const {
  return job_.held.test(chunk) ||
         std::find(downloaded_.begin(), downloaded_.end(), chunk) != downloaded_.end();
}

std::vector<std::uint32_t> Mover::chunks_in_order() const {
  std::vector<std::uint32_t> chunks;
  for (std::size_t rank = 0; rank < job_.assignment.shards.size(); ++rank) {
    for (const auto* part : {&job_.assignment.shards[rank], &job_.assignment.resends[rank]}) {
      chunks.insert(chunks.end(), part->begin(), part->end());
    }
  }
  std::sort(chunks.begin(), chunks.end());  // the layout numbers them file by file
  return chunks;
}

// The barrier between downloading and broadcasting, by messages: a rank that fails must not leave
// the others inside a collective.
void Mover::shard_is_down() {
  if (!only_downloads_ || told_ || !no_more_ || asked_ > 0 || !granted_.empty() || !work_.empty())
    return;
  told_ = true;
  if (fabric_.rank() == 0) {
    on_message(0, mpi::Downloaded{});
  } else {
    control_->send(0, mpi::Downloaded{});
  }
}

void Mover::start_broadcasts() {
  only_downloads_ = false;
  to_read_.insert(to_read_.end(), downloaded_.begin(), downloaded_.end());
  std::sort(to_read_.begin(), to_read_.end());
}

void Mover::trace(report::Trace::Stage stage, std::uint32_t chunk, double begin) const {
  if (job_.trace != nullptr)
    job_.trace->add(stage, chunk, begin, clock_.now(), job_.layout.chunks[chunk].bytes);
}

}  // namespace stage_model::transfer
