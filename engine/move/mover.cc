#include "engine/move/mover.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/move/digests.h"
#include "engine/plan/names.h"

namespace stage_model::move {

Mover::Mover(cast::Fabric& fabric, const MoveJob& job, store::Staging& staging,
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
      digests_(job.layout.extents.size()) {
  const auto me = static_cast<std::size_t>(fabric_.rank());
  for (std::size_t rank = 0; rank < job_.assignment.shards.size(); ++rank) {
    to_move_ += job_.assignment.shards[rank].size() + job_.assignment.resends[rank].size();
  }
  to_read_.assign(job_.assignment.resends[me].begin(), job_.assignment.resends[me].end());
  no_more_ = !job_.downloads;
}

Mover::~Mover() = default;

tl::expected<MoveStats, cast::Cause> Mover::run() {
  auto receive = Buffers::make(alone_ ? 0 : options_.receive_buffers, options_.chunk_size);
  auto download = Buffers::make(options_.download_buffers, options_.chunk_size);
  const Status memory = !receive    ? Status(tl::unexpected(receive.error()))
                        : !download ? Status(tl::unexpected(download.error()))
                                    : Status();
  if (auto ok = fabric_.agree(memory, "buffers"); !ok) return tl::unexpected(ok.error());
  receive_.emplace(std::move(*receive));
  download_.emplace(std::move(*download));
  hashers_.emplace(options_.hashers);
  if (!to_read_.empty() || only_downloads_) readers_.emplace(2);
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
    events_.wait(std::chrono::microseconds(busy ? 100 : alone_ ? 20000 : 1000));
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
    did |= control_->poll(
        [this](int from, cast::Message message) { on_message(from, std::move(message)); });
  }
  did |= ask_for_work();
  did |= start_chunks();
  shard_is_down();
  flush_entries();
  did |= post_broadcasts();
  if (lanes_) did |= lanes_->poll([this](std::uint32_t chunk) { on_broadcast(chunk); });
  if (auto ok = tick_(bytes_done_); !ok && !failed_here_) {
    fail_here(ok.error());
    did = true;
  }
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

// ---- getting chunks into memory

bool Mover::ask_for_work() {
  if (no_more_ || failed_here_ || stopped_) return false;
  const std::size_t have = fetching_ + granted_.size() + asked_;
  const std::size_t room = std::min(options_.downloading, options_.download_buffers);
  if (have >= room) return false;
  const auto want = static_cast<std::uint32_t>(room - have);
  asked_ += want;
  if (fabric_.rank() == 0) {
    on_message(0, cast::Ask{want});
  } else {
    control_->send(0, cast::Ask{want});
  }
  return true;
}

bool Mover::start_chunks() {
  bool did = false;
  while (!failed_here_ && !stopped_ && !download_->empty() && fetching_ < options_.downloading) {
    if (!to_read_.empty() && !only_downloads_) {
      start_read(to_read_.front());
      to_read_.pop_front();
    } else if (!granted_.empty()) {
      start_download(granted_.front());
      granted_.pop_front();
    } else {
      break;
    }
    did = true;
  }
  return did;
}

void Mover::start_download(std::uint32_t chunk) {
  const plan::Chunk& shape = job_.layout.chunks[chunk];
  Work& work = work_[chunk];
  work.buffer = download_->acquire();
  work.owner = true;
  work.fetches = shape.extent_count;
  ++fetching_;
  work.times.get = clock_.now();
  stats_.download.start(work.times.get);
  for (std::uint32_t i = 0; i < shape.extent_count; ++i) {
    const plan::Extent& extent = job_.layout.extents[shape.first_extent + i];
    source::Fetch fetch;
    fetch.object = &job_.listing.objects[extent.object];
    fetch.offset = extent.offset;
    fetch.length = extent.length;
    fetch.target = work.buffer + extent.at;
    fetch.done = [this, chunk](Status status) {
      events_.push({Event::Kind::kFetched, chunk, std::move(status), {}});
    };
    fetcher_->start(std::move(fetch));
  }
}

void Mover::start_read(std::uint32_t chunk) {
  Work& work = work_[chunk];
  work.buffer = download_->acquire();
  work.owner = true;
  work.fetches = 1;
  work.times.get = clock_.now();
  ++fetching_;
  readers_->post([this, chunk, buffer = work.buffer] {
    const plan::Chunk& shape = job_.layout.chunks[chunk];
    Status status;
    for (std::uint32_t i = 0; i < shape.extent_count && status; ++i) {
      const plan::Extent& extent = job_.layout.extents[shape.first_extent + i];
      status = staging_.read(extent.object, extent.offset, extent.length, buffer + extent.at);
    }
    events_.push({Event::Kind::kFetched, chunk, std::move(status), {}});
  });
}

void Mover::on_fetched(Event& event) {
  Work& work = work_.at(event.chunk);
  --work.fetches;
  if (!event.status) fail_here(event.status.error());
  if (work.fetches > 0) return;
  --fetching_;
  if (on_disk(event.chunk)) {
    trace(report::Trace::Stage::kRead, event.chunk, work.times.get);
  } else {
    trace(report::Trace::Stage::kGet, event.chunk, work.times.get);
    stats_.download.stop(clock_.now(), job_.layout.chunks[event.chunk].bytes);
  }
  if (failed_here_ || stopped_) {
    download_->release(work.buffer);
    work_.erase(event.chunk);
    return;
  }
  hash(event.chunk, work);
}

void Mover::hash(std::uint32_t chunk, const Work& work) {
  Work& hashed = work_.at(chunk);
  hashed.hashing = true;
  hashed.times.hash = clock_.now();
  stats_.verify.start(hashed.times.hash);
  hashers_->post([this, chunk, buffer = work.buffer, fetched = work.owner && !on_disk(chunk)] {
    const plan::Chunk& shape = job_.layout.chunks[chunk];
    Event event{Event::Kind::kHashed, chunk, {}, {}};
    if (options_.verify == Verify::kNone) {
      event.digests.resize(shape.extent_count);
    } else {
      event.digests = digest_extents(job_.layout, shape, buffer);
      // The store's own hash is checked where the bytes came from the store.
      if (fetched) event.status = check_store_hashes(job_.listing, job_.layout, shape, buffer);
    }
    events_.push(std::move(event));
  });
}

void Mover::on_hashed(Event& event) {
  Work& work = work_.at(event.chunk);
  work.hashing = false;
  const plan::Chunk& shape = job_.layout.chunks[event.chunk];
  stats_.verify.stop(clock_.now(), shape.bytes);
  trace(report::Trace::Stage::kHash, event.chunk, work.times.hash);
  std::copy(event.digests.begin(), event.digests.end(), digests_.begin() + shape.first_extent);
  if (!event.status) fail_here(event.status.error());
  const auto check = chunk_check(event.digests);
  if (work.owner) {
    if (failed_here_ || stopped_) {
      // Not announced yet, so nobody waits for it.
      download_->release(work.buffer);
      work_.erase(event.chunk);
      return;
    }
    std::copy(check.begin(), check.end(), work.check);
    work.times.ready = clock_.now();
    work.broadcast_done = alone_ || only_downloads_;
    if (!work.broadcast_done) announce(event.chunk, work);
  } else if (!std::equal(check.begin(), check.end(), work.check)) {
    const plan::Object& object =
        job_.listing.objects[job_.layout.extents[shape.first_extent].object];
    fail_here({ExitCode::kIntegrity,
               fmt::format("a chunk with {} arrived with other bytes than were sent; check this "
                           "node's network and memory",
                           plan::printable(object.name))});
  }
  store(event.chunk, work);
}

// ---- disk

void Mover::store(std::uint32_t chunk, Work& work) {
  work.stored = true;
  if (!failed_here_ && !stopped_ && job_.write && !on_disk(chunk)) {
    const plan::Chunk& shape = job_.layout.chunks[chunk];
    work.writes = shape.extent_count;
    work.times.write = clock_.now();
    stats_.write.start(work.times.write);
    for (std::uint32_t i = 0; i < shape.extent_count; ++i) {
      const plan::Extent& extent = job_.layout.extents[shape.first_extent + i];
      store::Write write;
      write.object = extent.object;
      write.offset = extent.offset;
      write.length = extent.length;
      write.data = work.buffer + extent.at;
      write.digest = digests_[shape.first_extent + i];
      write.done = [this, chunk](Status status) {
        events_.push({Event::Kind::kWritten, chunk, std::move(status), {}});
      };
      staging_.write(std::move(write));
    }
  }
  finish_if_done(chunk);
}

void Mover::on_written(Event& event) {
  Work& work = work_.at(event.chunk);
  --work.writes;
  if (!event.status) fail_here(event.status.error());
  if (work.writes == 0 && event.status) {
    const std::uint64_t bytes = job_.layout.chunks[event.chunk].bytes;
    stats_.write.stop(clock_.now(), bytes);
    trace(report::Trace::Stage::kWrite, event.chunk, work.times.write);
    bytes_done_ += bytes;
    if (only_downloads_) downloaded_.push_back(event.chunk);
  }
  finish_if_done(event.chunk);
}

void Mover::finish_if_done(std::uint32_t chunk) {
  const auto at = work_.find(chunk);
  const Work& work = at->second;
  if (!work.stored || work.writes > 0 || !work.broadcast_done) return;
  (work.owner ? download_ : receive_)->release(work.buffer);
  work_.erase(at);
  if (alone_) ++posted_;
}

// ---- the fabric

void Mover::announce(std::uint32_t chunk, const Work& work) {
  const cast::Entry entry{
      chunk, static_cast<std::uint32_t>(fabric_.rank()), {work.check[0], work.check[1]}};
  if (sequencer_) {
    sequence(entry);
  } else {
    control_->send(0, cast::Ready{entry});
  }
}

void Mover::sequence(const cast::Entry& ready) {
  for (const cast::Entry& entry : sequencer_->announce(ready)) {
    unsent_.push_back(entry);
    on_entry(entry);
  }
}

void Mover::flush_entries() {
  if (unsent_.empty()) return;
  control_->send_down(cast::Entries{std::exchange(unsent_, {})});
}

void Mover::on_entry(const cast::Entry& entry) { order_.push_back(entry); }

bool Mover::post_broadcasts() {
  bool did = false;
  const auto me = static_cast<std::uint32_t>(fabric_.rank());
  while (!order_.empty() && lanes_->in_flight() < options_.pipeline) {
    const cast::Entry& entry = order_.front();
    const std::uint32_t audience = job_.assignment.audience[entry.chunk];
    if (!lanes_->takes_part(audience)) {
      ++posted_;
      order_.pop_front();
      did = true;
      continue;
    }
    std::byte* buffer = nullptr;
    if (entry.root == me) {
      Work& work = work_.at(entry.chunk);
      trace(report::Trace::Stage::kWait, entry.chunk, work.times.ready);
      work.posted = true;
      work.times.bcast = clock_.now();
      buffer = work.buffer;
    } else {
      if (receive_->empty()) break;
      buffer = receive_->acquire();
      Work& work = work_[entry.chunk];
      work.buffer = buffer;
      work.times.bcast = clock_.now();
      std::copy(std::begin(entry.check), std::end(entry.check), work.check);
    }
    stats_.bcast.start(clock_.now());
    lanes_->post(posted_, audience, entry.root, buffer, job_.layout.chunks[entry.chunk].length,
                 entry.chunk);
    ++posted_;
    order_.pop_front();
    did = true;
  }
  return did;
}

void Mover::on_broadcast(std::uint32_t chunk) {
  Work& work = work_.at(chunk);
  work.broadcast_done = true;
  stats_.bcast.stop(clock_.now(), job_.layout.chunks[chunk].bytes);
  trace(report::Trace::Stage::kBcast, chunk, work.times.bcast);
  if (work.owner) {
    finish_if_done(chunk);
  } else if (failed_here_ || stopped_ || job_.held.test(chunk) || !job_.write) {
    // Taken along only because a broadcast needs every rank.
    work.stored = true;
    finish_if_done(chunk);
  } else {
    hash(chunk, work);
  }
}

void Mover::on_message(int from, cast::Message message) {
  if (const auto* ask = std::get_if<cast::Ask>(&message)) {
    cast::Grant grant;
    grant.chunks = sequencer_->grant(static_cast<std::uint32_t>(from), ask->want);
    grant.asked = ask->want;
    if (from == 0) {
      on_message(0, std::move(grant));
    } else {
      control_->send(from, grant);
    }
  } else if (auto* grant = std::get_if<cast::Grant>(&message)) {
    asked_ -= grant->asked;
    granted_.insert(granted_.end(), grant->chunks.begin(), grant->chunks.end());
    if (grant->chunks.size() < grant->asked) no_more_ = true;
  } else if (const auto* ready = std::get_if<cast::Ready>(&message)) {
    sequence(ready->entry);
  } else if (const auto* failed = std::get_if<cast::Failed>(&message)) {
    stop_all(failed->cause);
  } else if (const auto* entries = std::get_if<cast::Entries>(&message)) {
    for (const cast::Entry& entry : entries->entries) on_entry(entry);
  } else if (const auto* stop = std::get_if<cast::Stop>(&message)) {
    on_stop(stop->cause);
  } else if (std::holds_alternative<cast::Downloaded>(message)) {
    if (++shards_down_ < fabric_.size()) return;
    control_->send_down(cast::Go{});
    start_broadcasts();
  } else if (std::holds_alternative<cast::Go>(message)) {
    start_broadcasts();
  }
}

// ---- the staged schedule

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
    on_message(0, cast::Downloaded{});
  } else {
    control_->send(0, cast::Downloaded{});
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

// ---- failure

// What is outstanding comes back as events that say kStopped.
void Mover::end_fetching() {
  if (fetcher_) stats_.source = fetcher_->counters();
  fetcher_.reset();
}

// This rank cannot go on. It still takes part in every broadcast that was sequenced, or the others
// would wait for ever; what arrives is thrown away.
void Mover::fail_here(const Error& error) {
  if (failed_here_ || stopped_) return;
  failed_here_ = error;
  const cast::Cause cause{error, fabric_.node()};
  if (sequencer_ && !alone_) {
    stop_all(cause);
  } else if (!alone_) {
    control_->send(0, cast::Failed{cause});
  }
  drop_unannounced();
}

void Mover::stop_all(const cast::Cause& cause) {
  // A complete list needs no stop: every rank finishes it, and the end of the move is agreed upon.
  if (!sequencer_->stop()) return;
  flush_entries();
  control_->send_down(cast::Stop{cause});
  on_stop(cause);
}

void Mover::on_stop(const cast::Cause& cause) {
  if (stopped_) return;
  stopped_ = cause;
  drop_unannounced();
}

void Mover::drop_unannounced() {
  end_fetching();
  granted_.clear();
  to_read_.clear();
}

// Chunks that were announced but not sequenced before the stop will never be broadcast. Done
// between events, since it removes chunks that an event's handler may be looking at.
void Mover::settle() {
  if (!stopped_ || settled_) return;
  settled_ = true;
  std::vector<std::uint32_t> dropped;
  for (auto& [chunk, work] : work_) {
    if (!work.owner || work.fetches > 0 || work.hashing || work.posted) continue;
    const bool sequenced = std::any_of(order_.begin(), order_.end(),
                                       [&, id = chunk](const auto& e) { return e.chunk == id; });
    if (sequenced) continue;
    work.broadcast_done = true;
    dropped.push_back(chunk);
  }
  for (const std::uint32_t chunk : dropped) finish_if_done(chunk);
}

void Mover::watch() {
  const double quiet = clock_.now() - last_progress_;
  if (quiet < options_.stall_timeout_s) return;
  const Error error{
      ExitCode::kStopped,
      fmt::format("nothing moved on this node for {:.0f} s ({} of {} chunks broadcast)", quiet,
                  posted_, to_move_)};
  if (!failed_here_) {
    fail_here(error);
  } else if (quiet > options_.stall_timeout_s + 15) {
    fabric_.hard_stop(*failed_here_);
  }
}

// Nobody leaves while another rank may still need a message forwarded.
void Mover::leave() {
  end_fetching();
  readers_.reset();
  hashers_.reset();
  if (alone_) return;
  auto pump = [this] {
    control_->poll([this](int from, cast::Message message) {
      // Too late to matter; a failure is agreed upon after this.
      if (std::holds_alternative<cast::Ask>(message)) control_->send(from, cast::Grant{});
    });
    return control_->sent();
  };
  fabric_.wait(pump, "the last messages of the move");
  MPI_Request barrier = MPI_REQUEST_NULL;
  MPI_Ibarrier(fabric_.world(), &barrier);
  int done = 0;
  fabric_.wait(
      [&] {
        pump();
        MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
        return done != 0 && control_->sent();
      },
      "the other ranks to end the move");
  if (sequencer_) stats_.taken_over = sequencer_->taken_over();
  stats_.control_messages = control_->messages_sent();
}

}  // namespace stage_model::move
