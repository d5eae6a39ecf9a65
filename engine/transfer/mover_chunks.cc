// Mover: a chunk on this rank: into memory, hashed, onto the disk.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/transfer/digests.h"
#include "engine/transfer/mover.h"
#include "engine/transfer/recorded.h"
#include "engine/plan/names.h"

namespace stage_model::transfer {

// Who has this much waiting for its broadcast gains nothing from more, and what it took over from
// slower ones it would have to send alone at the end: with a shared egress one rank of 16 got a
// quarter of the chunks, and the last ones filled no chain (1.18 × the bound, not 1.11).
bool Mover::has_enough() const {
  constexpr std::size_t kLeast = 8;
  return ready_.size() >= std::max(kLeast, 4 * options_.per_root);
}

bool Mover::ask_for_work() {
  if (no_more_ || failed_here_ || stopped_ || has_enough()) return false;
  const std::size_t have = fetching_ + granted_.size() + asked_;
  const std::size_t room = window_.chunks(options_.chunk_size);
  if (have >= room) return false;
  const auto want = static_cast<std::uint32_t>(room - have);
  asked_ += want;
  if (fabric_.rank() == 0) {
    on_message(0, mpi::Ask{want});
  } else {
    control_->send(0, mpi::Ask{want});
  }
  return true;
}

bool Mover::start_chunks() {
  bool did = false;
  const std::size_t room = window_.chunks(options_.chunk_size);
  const std::size_t room_to_read = read_window_.chunks(options_.chunk_size);
  while (!failed_here_ && !stopped_ && !download_->empty()) {
    const bool read = !to_read_.empty() && !only_downloads_;
    if (fetching_ >= (read ? room_to_read : room)) break;
    if (read) {
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
  FetchWindow& window = on_disk(event.chunk) ? read_window_ : window_;
  window.fetched(work.times.get, clock_.now(), job_.layout.chunks[event.chunk].bytes);
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
  hashers_->post([this, chunk, buffer = work.buffer, fetched = work.owner && !on_disk(chunk),
                  held = work.owner && job_.held.test(chunk)] {
    const plan::Chunk& shape = job_.layout.chunks[chunk];
    Event event{Event::Kind::kHashed, chunk, {}, {}};
    if (options_.verify == Verify::kNone) {
      event.digests.resize(shape.extent_count);
    } else {
      event.digests = digest_extents(job_.layout, shape, buffer);
      // By the rank that brings the bytes in; for the others its word is enough.
      if (fetched) event.status = check_store_hashes(job_.listing, job_.layout, shape, buffer);
      if (held) {
        event.status =
            check_recorded(job_.listing, job_.layout, shape, event.digests, staging_).and_then([&] {
              return check_store_hashes(job_.listing, job_.layout, shape, buffer, held_error);
            });
      }
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
    if (!work.broadcast_done) ready_.push_back(event.chunk);
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

}  // namespace stage_model::transfer
