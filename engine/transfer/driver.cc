#include "engine/transfer/driver.h"

#include <algorithm>
#include <utility>

#include "engine/transfer/digests.h"
#include "engine/transfer/recorded.h"
#include "engine/transfer/staged_scheduler.h"

namespace stage_model::transfer {

namespace {

std::unique_ptr<Scheduler> make_scheduler(const Self& self, const RankPlan& plan,
                                          const Options& options, double now) {
  if (options.schedule == Schedule::kStaged && self.ranks > 1)
    return std::make_unique<StagedScheduler>(self, plan, options.scheduler, now);
  return std::make_unique<Scheduler>(self, plan, options.scheduler, now);
}

}  // namespace

Driver::Driver(const Means& means, const RankPlan& plan, std::unique_ptr<source::Fetcher> fetcher,
               const Options& options, Poll poll)
    : fabric_(means.fabric),
      staging_(means.staging),
      clock_(means.clock),
      trace_(means.trace),
      plan_(plan),
      fetcher_(std::move(fetcher)),
      options_(options),
      poll_(std::move(poll)),
      alone_(fabric_.size() == 1),
      digests_(plan.layout.extents.size()) {}

Driver::~Driver() = default;

Status Driver::allocate() {
  const SchedulerOptions& options = options_.scheduler;
  auto receive = Buffers::make(alone_ ? 0 : options.receive_buffers, options.chunk_size);
  if (!receive) return tl::unexpected(receive.error());
  auto download = Buffers::make(options.download_buffers, options.chunk_size);
  if (!download) return tl::unexpected(download.error());
  receive_.emplace(std::move(*receive));
  download_.emplace(std::move(*download));
  slots_.resize(options.download_buffers + (alone_ ? 0 : options.receive_buffers));
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].memory = i < options.download_buffers ? download_->at(i)
                                                    : receive_->at(i - options.download_buffers);
  }
  return {};
}

tl::expected<Stats, Cause> Driver::run() {
  if (auto ok = fabric_.agree(allocate(), "buffers"); !ok) return tl::unexpected(ok.error());
  hashers_.emplace(options_.hashers);
  if (!alone_) {
    control_.emplace(fabric_);
    lanes_.emplace(fabric_, options_.lanes, plan_.assignment.audiences);
  }
  const Self self{static_cast<std::uint32_t>(fabric_.rank()),
                  static_cast<std::uint32_t>(fabric_.size()), fabric_.node()};
  scheduler_ = make_scheduler(self, plan_, options_, clock_.now());
  carry_out_decisions();
  while (!scheduler_->finished()) round();
  leave();
  stats_.taken_over = scheduler_->taken_over();
  if (const auto& cause = scheduler_->ended_by()) return tl::unexpected(*cause);
  const auto& failure = scheduler_->failure();
  const Status mine = failure ? Status(tl::unexpected(*failure)) : Status();
  if (auto ok = fabric_.agree(mine, "the end of the transfer"); !ok)
    return tl::unexpected(ok.error());
  return stats_;
}

void Driver::round() {
  bool did = take_completions();
  did |= receive_messages();
  did |= poll_broadcasts();
  bool told = did;
  if (auto ok = poll_(stats_.write.bytes); !ok) {
    tell(event::StopRequested{ok.error()});
    told = true;
  }
  if (clock_.now() >= scheduler_->next_tick()) {
    tell(event::Tick{source_progress()});
    told = true;
  }
  if (told) carry_out_decisions();
  if (did) return;
  // With a broadcast in flight MPI needs us to make progress; else only small messages can come.
  const bool busy = lanes_ && lanes_->in_flight() > 0;
  completions_.wait(busy ? poll_interval_.next()
                         : std::chrono::microseconds(alone_ ? 20000 : 1000));
}

void Driver::tell(Event event) { scheduler_->handle(std::move(event), clock_.now()); }

void Driver::carry_out_decisions() {
  actions_.clear();
  scheduler_->decide(clock_.now(), actions_);
  for (const Action& action : actions_) {
    std::visit([this](const auto& a) { carry_out(a); }, action);
  }
}

// Nobody leaves while another rank may still need a message forwarded.
void Driver::leave() {
  const auto pump = [this] {
    if (receive_messages()) carry_out_decisions();
    return !control_ || control_->sent();
  };
  const auto fetching_ended = [this] {
    return !ending_fetching_.valid() ||
           ending_fetching_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  fabric_.wait(
      [&] {
        pump();
        return fetching_ended();
      },
      "the source to end");
  readers_.reset();
  hashers_.reset();
  if (alone_) return;
  fabric_.wait(pump, "the last messages of the transfer");
  MPI_Request barrier = MPI_REQUEST_NULL;
  MPI_Ibarrier(fabric_.world(), &barrier);
  int done = 0;
  fabric_.wait(
      [&] {
        pump();
        MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
        return done != 0 && control_->sent();
      },
      "the other ranks to end the transfer");
}

// ---- what has happened

bool Driver::take_completions() {
  auto completions = completions_.take();
  for (Completion& completion : completions) {
    Slot& slot = slots_[completion.slot];
    switch (completion.kind) {
      case Completion::Kind::kFetched:
        on_fetched(slot, completion);
        break;
      case Completion::Kind::kHashed:
        on_hashed(slot, completion);
        break;
      case Completion::Kind::kWritten:
        on_written(slot, completion);
        break;
    }
  }
  return !completions.empty();
}

bool Driver::receive_messages() {
  return control_ && control_->poll([this](int from, std::string_view bytes) {
    Message message;
    if (!decode(bytes, &message)) return;  // cannot happen between equal binaries
    tell(event::Received{static_cast<std::uint32_t>(from), std::move(message)});
  });
}

bool Driver::poll_broadcasts() {
  return lanes_ && lanes_->poll([this](std::uint32_t tag) {
    const Slot& slot = slots_[tag];
    const double now = clock_.now();
    poll_interval_.completed(now);
    stats_.bcast.stop(now, shape(slot.chunk).bytes);
    trace(report::Trace::Stage::kBcast, slot.chunk, slot.times.bcast);
    tell(event::BroadcastDone{slot.chunk});
  });
}

// An error is told at once: the other parts may take long.
bool Driver::last_part(Slot& slot, const Status& status) {
  if (!status && slot.status) slot.status = status;
  if (--slot.parts == 0) return true;
  if (!status) tell(event::Failed{status.error()});
  return false;
}

void Driver::on_fetched(Slot& slot, Completion& part) {
  if (!last_part(slot, part.status)) return;
  if (slot.read) {
    trace(report::Trace::Stage::kRead, slot.chunk, slot.times.get);
  } else {
    trace(report::Trace::Stage::kGet, slot.chunk, slot.times.get);
    stats_.download.stop(clock_.now(), shape(slot.chunk).bytes);
  }
  tell(event::Fetched{slot.chunk, std::move(slot.status)});
}

void Driver::on_hashed(Slot& slot, Completion& hash) {
  slot.times.ready = clock_.now();
  stats_.verify.stop(slot.times.ready, shape(slot.chunk).bytes);
  trace(report::Trace::Stage::kHash, slot.chunk, slot.times.hash);
  std::copy(hash.digests.begin(), hash.digests.end(),
            digests_.begin() + shape(slot.chunk).first_extent);
  tell(event::Hashed{slot.chunk, std::move(hash.status), hash.check});
}

void Driver::on_written(Slot& slot, Completion& part) {
  if (!last_part(slot, part.status)) return;
  if (slot.status) {
    stats_.write.stop(clock_.now(), shape(slot.chunk).bytes);
    trace(report::Trace::Stage::kWrite, slot.chunk, slot.times.write);
  }
  tell(event::Written{slot.chunk, std::move(slot.status)});
}

// ---- what is to be done

std::size_t Driver::slot_of(const Buffer& buffer) const {
  return buffer.pool == Pool::kDownload ? buffer.index
                                        : options_.scheduler.download_buffers + buffer.index;
}

// A chunk comes into the buffer.
Driver::Slot& Driver::begin(std::uint32_t chunk, const Buffer& buffer) {
  Slot& slot = slots_[slot_of(buffer)];
  slot.chunk = chunk;
  slot.status = {};
  return slot;
}

void Driver::carry_out(const action::Fetch& fetch) {
  Slot& slot = begin(fetch.chunk, fetch.buffer);
  slot.read = false;
  slot.parts = shape(fetch.chunk).extent_count;
  slot.times.get = clock_.now();
  stats_.download.start(slot.times.get);
  for (std::uint32_t i = 0; i < shape(fetch.chunk).extent_count; ++i) {
    const plan::Extent& extent = plan_.layout.extents[shape(fetch.chunk).first_extent + i];
    source::Fetch part;
    part.object = &plan_.listing.objects[extent.object];
    part.offset = extent.offset;
    part.length = extent.length;
    part.target = slot.memory + extent.at;
    part.done = [this, at = slot_of(fetch.buffer)](Status status) {
      completions_.push({Completion::Kind::kFetched, at, std::move(status)});
    };
    fetcher_->start(std::move(part));
  }
}

void Driver::carry_out(const action::Read& read) {
  Slot& slot = begin(read.chunk, read.buffer);
  slot.read = true;
  slot.parts = 1;
  slot.times.get = clock_.now();
  if (!readers_) readers_.emplace(staging_.writers());
  readers_->post([this, chunk = read.chunk, at = slot_of(read.buffer), memory = slot.memory] {
    Status status;
    for (std::uint32_t i = 0; i < shape(chunk).extent_count && status; ++i) {
      const plan::Extent& extent = plan_.layout.extents[shape(chunk).first_extent + i];
      status = staging_.read(extent.object, extent.offset, extent.length, memory + extent.at);
    }
    completions_.push({Completion::Kind::kFetched, at, std::move(status)});
  });
}

void Driver::carry_out(const action::Hash& hash) {
  Slot& slot = slots_[slot_of(hash.buffer)];
  slot.times.hash = clock_.now();
  stats_.verify.start(slot.times.hash);
  hashers_->post([this, hash, at = slot_of(hash.buffer), memory = slot.memory] {
    const plan::Chunk& chunk = shape(hash.chunk);
    Completion done{Completion::Kind::kHashed, at, {}};
    if (options_.verify == Verify::kNone) {
      done.digests.resize(chunk.extent_count);
    } else {
      done.digests = digest_extents(plan_.layout, chunk, memory);
      // By the rank that brings the bytes in; for the others its word is enough.
      if (hash.from == action::Hash::From::kSource) {
        done.status = check_store_hashes(plan_.listing, plan_.layout, chunk, memory);
      } else if (hash.from == action::Hash::From::kDisk && plan_.held.test(hash.chunk)) {
        done.status =
            check_recorded(plan_.listing, plan_.layout, chunk, done.digests, staging_)
                .and_then([&] {
                  return check_store_hashes(plan_.listing, plan_.layout, chunk, memory, held_error);
                });
      }
    }
    done.check = chunk_check(done.digests);
    completions_.push(std::move(done));
  });
}

void Driver::carry_out(const action::Write& write) {
  Slot& slot = slots_[slot_of(write.buffer)];
  const plan::Chunk& chunk = shape(write.chunk);
  slot.parts = chunk.extent_count;
  slot.times.write = clock_.now();
  stats_.write.start(slot.times.write);
  for (std::uint32_t i = 0; i < chunk.extent_count; ++i) {
    const plan::Extent& extent = plan_.layout.extents[chunk.first_extent + i];
    store::Write part;
    part.object = extent.object;
    part.offset = extent.offset;
    part.length = extent.length;
    part.data = slot.memory + extent.at;
    part.digest = digests_[chunk.first_extent + i];
    part.done = [this, at = slot_of(write.buffer)](Status status) {
      completions_.push({Completion::Kind::kWritten, at, std::move(status)});
    };
    staging_.write(std::move(part));
  }
}

void Driver::carry_out(const action::Broadcast& broadcast) {
  const std::size_t at = slot_of(broadcast.buffer);
  const bool ours = broadcast.buffer.pool == Pool::kDownload;
  Slot& slot = ours ? slots_[at] : begin(broadcast.chunk, broadcast.buffer);
  if (ours) trace(report::Trace::Stage::kWait, broadcast.chunk, slot.times.ready);
  slot.times.bcast = clock_.now();  // a stage ends before the next one begins
  stats_.bcast.start(slot.times.bcast);
  lanes_->post(broadcast.number, broadcast.audience, broadcast.root, slot.memory,
               shape(broadcast.chunk).length, static_cast<std::uint32_t>(at));
}

void Driver::carry_out(const action::Send& send) {
  control_->send(static_cast<int>(send.to), encode(send.message));
}

void Driver::carry_out(const action::SendToAll& send) {
  control_->send_to_all(encode(send.message));
}

// Not on this thread: a read of a dead file server does not come back, and the others have to hear
// of our end. What is outstanding comes back as errors that say kStopped.
void Driver::carry_out(const action::EndFetching&) {
  if (!fetcher_) return;
  stats_.source = fetcher_->counters();
  ending_fetching_ = std::async(std::launch::async,
                                [fetcher = std::move(fetcher_)]() mutable { fetcher.reset(); });
}

void Driver::carry_out(const action::Finishing& finishing) { fabric_.finishing(finishing.seconds); }

void Driver::carry_out(const action::Leave&) {}  // run() sees that the scheduler is finished

void Driver::carry_out(const action::GiveUp& give_up) { fabric_.hard_stop(give_up.error); }

std::uint64_t Driver::source_progress() const {
  if (!fetcher_) return 0;
  const source::Counters counters = fetcher_->counters();
  return counters.bytes + counters.requests;
}

void Driver::trace(report::Trace::Stage stage, std::uint32_t chunk, double begin) const {
  if (trace_ != nullptr) trace_->add(stage, chunk, begin, clock_.now(), shape(chunk).bytes);
}

}  // namespace stage_model::transfer
