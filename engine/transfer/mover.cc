#include "engine/transfer/mover.h"

#include <algorithm>
#include <utility>

namespace stage_model::transfer {

Mover::Mover(mpi::Fabric& fabric, const MoveJob& job, store::Staging& staging,
             std::unique_ptr<source::Fetcher> fetcher, const MoveOptions& options,
             const report::Clock& clock, Tick tick)
    : fabric_(fabric),
      job_(job),
      staging_(staging),
      fetcher_(std::move(fetcher)),
      options_(options),
      clock_(clock),
      tick_(std::move(tick)),
      alone_(fabric.size() == 1),
      only_downloads_(options.schedule == Schedule::kStaged && !alone_),
      window_(std::min(options.downloading, options.download_buffers)),
      read_window_(options.download_buffers),
      digests_(job.layout.extents.size()) {
  const auto me = static_cast<std::size_t>(fabric_.rank());
  for (std::size_t rank = 0; rank < job_.assignment.shards.size(); ++rank) {
    to_move_ += job_.assignment.shards[rank].size() + job_.assignment.resends[rank].size();
  }
  to_read_.assign(job_.assignment.resends[me].begin(), job_.assignment.resends[me].end());
  no_more_ = !job_.downloads;
}

Mover::~Mover() = default;

tl::expected<MoveStats, mpi::Cause> Mover::run() {
  auto receive = Buffers::make(alone_ ? 0 : options_.receive_buffers, options_.chunk_size);
  auto download = Buffers::make(options_.download_buffers, options_.chunk_size);
  const Status memory = !receive    ? Status(tl::unexpected(receive.error()))
                        : !download ? Status(tl::unexpected(download.error()))
                                    : Status();
  if (auto ok = fabric_.agree(memory, "buffers"); !ok) return tl::unexpected(ok.error());
  receive_.emplace(std::move(*receive));
  download_.emplace(std::move(*download));
  hashers_.emplace(options_.hashers);
  if (!to_read_.empty() || only_downloads_) readers_.emplace(staging_.writers());
  if (fabric_.rank() == 0) {
    sequencer_.emplace(job_.assignment.shards, to_move_, options_.take_over && !only_downloads_);
    if (only_downloads_) sequencer_->keep_order(chunks_in_order());
  }
  if (!alone_) {
    control_.emplace(fabric_);
    lanes_.emplace(fabric_, options_.lanes, job_.assignment.audiences);
  }
  last_progress_ = clock_.now();
  while (!finished()) {
    if (step()) {
      last_progress_ = clock_.now();
      continue;
    }
    watch();
    // With a broadcast in flight MPI needs us to make progress; else only small messages can come.
    const bool busy = lanes_ && lanes_->in_flight() > 0;
    events_.wait(busy ? nap_.length() : std::chrono::microseconds(alone_ ? 20000 : 1000));
  }
  leave();
  if (stopped_) return tl::unexpected(*stopped_);
  const Status mine = failed_here_ ? Status(tl::unexpected(*failed_here_)) : Status();
  if (auto ok = fabric_.agree(mine, "the end of the move"); !ok) return tl::unexpected(ok.error());
  return stats_;
}

bool Mover::finished() const {
  if (!work_.empty()) return false;
  if (stopped_) return order_.empty();
  if (alone_ && failed_here_) return true;
  return posted_ == to_move_;
}

bool Mover::step() {
  bool did = handle_events();
  if (control_) {
    const bool heard = control_->poll(
        [this](int from, mpi::Message message) { on_message(from, std::move(message)); });
    did |= heard && !over_since_;  // that the others end too is no progress of ours
  }
  did |= ask_for_work();
  did |= start_chunks();
  announce_ready();
  shard_is_down();
  flush_entries();
  did |= post_broadcasts();
  if (lanes_) did |= lanes_->poll([this](std::uint32_t chunk) { on_broadcast(chunk); });
  if (auto ok = tick_(bytes_done_); !ok) asked_to_stop(ok.error());
  settle();
  return did;
}

bool Mover::handle_events() {
  auto events = events_.take();
  for (Event& event : events) {
    switch (event.kind) {
      case Event::Kind::kFetched:
        on_fetched(event);
        break;
      case Event::Kind::kHashed:
        on_hashed(event);
        break;
      case Event::Kind::kWritten:
        on_written(event);
        break;
    }
  }
  return !events.empty();
}

}  // namespace stage_model::transfer
