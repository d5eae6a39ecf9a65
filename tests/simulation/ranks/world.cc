#include "tests/simulation/ranks/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/transfer/staged_scheduler.h"

namespace stage_model::simulation {
namespace {

using transfer::Pool;
using Kind = Fault::Kind;

constexpr double kLongestRun = 1e5;  // seconds
constexpr std::uint64_t kMostEvents = 5'000'000;
constexpr Time kLauncherNotices = kSecond;
constexpr char kEndedFetch[] = "the fetcher was ended";

std::size_t index(Pool pool) { return static_cast<std::size_t>(pool); }
std::uint64_t check_of(std::uint32_t chunk) { return 0x9e3779b97f4a7c15 * (chunk + 1); }

}  // namespace

World::World(const Scenario& scenario, Random random, Trace& trace)
    : scenario_(scenario),
      trace_(trace),
      random_(random),
      network_(
          time_, scenario, random_.fork(),
          [this](auto to, auto from, const std::string& bytes) { on_message(to, from, bytes); },
          [this](auto rank, auto chunk) { on_broadcast(rank, chunk); }),
      source_(time_, scenario.source,
              [this](auto rank, auto chunk) { on_fetched(rank, chunk, {}); }),
      ranks_(scenario.ranks),
      downloaded_(scenario.layout.chunks.size()),
      announced_(scenario.layout.chunks.size()) {
  // Several events at once, as a driver takes them that looks now and then.
  if (!scenario.faults.empty() || random_.chance(0.5))
    round_delay_ = random_.chance(0.5) ? kMillisecond : 0;
  std::size_t entries = 0;
  for (std::uint32_t r = 0; r < scenario.ranks; ++r) {
    entries += scenario.assignment.shards[r].size() + scenario.assignment.resends[r].size();
  }
  list_.resize(entries);
  listed_.resize(entries);
  for (std::uint32_t r = 0; r < scenario.ranks; ++r) {
    Rank& rank = ranks_[r];
    const bool downloads =
        std::binary_search(scenario.downloaders.begin(), scenario.downloaders.end(), r);
    const plan::Bits& held = scenario.holders[r];
    const bool writes = held.count() < scenario.layout.chunks.size();
    const transfer::RankPlan plan{scenario.listing, scenario.layout, scenario.assignment, held,
                                  downloads,        writes};
    transfer::SchedulerOptions options;
    options.chunk_size = scenario.chunk_size;
    options.receive_buffers = scenario.receive_buffers;
    options.download_buffers = scenario.download_buffers;
    options.downloading = scenario.downloading;
    options.pipeline = scenario.pipeline;
    options.per_root = scenario.per_root;
    options.take_over = scenario.take_over;
    options.stall_timeout_s = scenario.stall_timeout_s;
    const transfer::Self self{r, scenario.ranks, fmt::format("n{}", r)};
    if (scenario.staged && scenario.ranks > 1) {
      rank.scheduler = std::make_unique<transfer::StagedScheduler>(self, plan, options, 0);
    } else {
      rank.scheduler = std::make_unique<transfer::Scheduler>(self, plan, options, 0);
    }
    rank.memory[index(Pool::kDownload)].resize(scenario.download_buffers);
    if (scenario.ranks > 1) rank.memory[index(Pool::kReceive)].resize(scenario.receive_buffers);
    rank.written = rank.writing = plan::Bits(scenario.layout.chunks.size());
    rank.writer_free.resize(scenario.disk.writers);
  }
}

Ran World::run() {
  trace_.add(0, "{}", describe(scenario_));
  for (const Fault& fault : scenario_.faults) {
    const auto ask = [this, &fault](std::uint32_t r) {
      if (ranks_[r].scheduler->finished()) return;
      last_struck_ = time_.now();
      raised_.push_back(error_of(fault));
      if (++asked_ == scenario_.ranks && fault.kind == Kind::kDeadline) all_asked_ = time_.now();
      trace_.add(time_.now(), "rank {}: asked to stop ({})", r, name_of(fault.kind));
      tell(r, transfer::event::StopRequested{error_of(fault)});
    };
    const Time when = from_seconds(fault.seconds);
    if (fault.kind == Kind::kCancel) time_.at(when, [=, &fault] { ask(fault.rank); });
    if (fault.kind == Kind::kDeadline) {
      for (std::uint32_t r = 0; r < scenario_.ranks; ++r)
        time_.at(when + random_.between(0, kMillisecond), [=] { ask(r); });
    }
    if (fault.kind == Kind::kLost) {
      // The launchers end all engines: nothing of this is the scheduler's.
      time_.at(when + kLauncherNotices, [this] { lost_ = true; });
    }
  }
  for (std::uint32_t r = 0; r < scenario_.ranks; ++r) {
    const auto lost = std::find_if(scenario_.faults.begin(), scenario_.faults.end(),
                                   [&](auto& f) { return f.kind == Kind::kLost && f.rank == r; });
    if (lost != scenario_.faults.end())
      time_.at(from_seconds(lost->seconds), [this, r] { ranks_[r].fetching_ended = true; });
    decide(r);
  }
  while (left_ < ranks_.size() && !given_up_ && !lost_) {
    if (time_.pending() <= ticks_pending_) check_standstill();
    if (!time_.step())
      violated("nothing can ever happen again: {} of {} left", left_, ranks_.size());
    if (scenario_.ranks <= 64 && time_.happened() > kMostEvents)
      violated("{} events, and no end", kMostEvents);
    if (time_.seconds() > kLongestRun) violated("it does not end within {} s", kLongestRun);
  }
  if (lost_ && left_ < ranks_.size()) return ended("a node was lost");
  return verdict();
}

// Nothing will happen but that time passes. That is right only where something hangs.
void World::check_standstill() const {
  if (hangs_) return;
  std::string who;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    const auto& s = *ranks_[r].scheduler;
    if (ranks_[r].left || who.size() > 400) continue;
    who += fmt::format("; rank {}: {} chunks in memory, {} of {} entries passed, {} in flight", r,
                       s.chunks().all().size(), s.broadcasts().passed(), s.to_broadcast(),
                       s.broadcasts().in_flight());
  }
  violated("deadlock: nothing can happen any more{}", who);
}

// ---- events

void World::tell(std::uint32_t r, transfer::Event event) {
  Rank& rank = ranks_[r];
  rank.inbox.push_back(std::move(event));
  if (rank.round_due) return;
  if (round_delay_ == 0) return round(r);
  rank.round_due = true;
  time_.after(random_.between(0, round_delay_), [this, r] { round(r); });
}

void World::round(std::uint32_t r) {
  Rank& rank = ranks_[r];
  rank.round_due = false;
  if (given_up_) return;
  for (transfer::Event& event : std::exchange(rank.inbox, {})) take_in(r, std::move(event));
  decide(r);
}

void World::take_in(std::uint32_t r, transfer::Event event) {
  Rank& rank = ranks_[r];
  transfer::Scheduler& s = *rank.scheduler;
  const bool before = s.finished();
  bool failing = std::holds_alternative<transfer::event::StopRequested>(event);
  if (const auto* e = std::get_if<transfer::event::Fetched>(&event)) failing = !e->status;
  if (const auto* e = std::get_if<transfer::event::Hashed>(&event)) failing = !e->status;
  if (const auto* e = std::get_if<transfer::event::Written>(&event)) failing = !e->status;
  if (r == 0 && !first_) {
    if (const auto* e = std::get_if<transfer::event::Received>(&event)) {
      const auto* failed = std::get_if<transfer::message::RankFailed>(&e->message);
      if (failed != nullptr) first_ = failed->cause.error;
    }
  }
  s.handle(std::move(event), time_.seconds());
  if (r == 0 && !first_ && s.failure()) first_ = s.failure();
  if (failing && !before && !s.failure() && !s.ended_by())
    violated("rank {} was told of an error and goes on", r);
}

void World::decide(std::uint32_t r) {
  Rank& rank = ranks_[r];
  std::vector<transfer::Action> actions = std::move(actions_);
  actions.clear();
  rank.scheduler->decide(time_.seconds(), actions);
  for (const transfer::Action& action : actions) {
    std::visit([&](const auto& a) { carry_out(r, a); }, action);
    if (given_up_) return;
  }
  actions_ = std::move(actions);
  if (rank.scheduler->failure() && !rank.failed_told) {
    rank.failed_told = true;
    trace_.add(time_.now(), "rank {}: fails: {}", r, rank.scheduler->failure()->message);
  }
  want_tick(r);
}

void World::want_tick(std::uint32_t r) {
  const double wanted = ranks_[r].scheduler->next_tick();
  if (!std::isfinite(wanted)) return;
  const Time due = std::max(from_seconds(wanted) + kMicrosecond, time_.now() + kMicrosecond);
  if (ranks_[r].tick_due >= 0 && ranks_[r].tick_due <= due) return;
  ranks_[r].tick_due = due;
  ++ticks_pending_;
  time_.at(due, [this, r, due] {
    --ticks_pending_;
    if (ranks_[r].tick_due != due) return;
    ranks_[r].tick_due = -1;
    tick(r);
  });
}

void World::tick(std::uint32_t r) {
  Rank& rank = ranks_[r];
  if (given_up_) return;
  if (time_.seconds() < rank.scheduler->next_tick()) return want_tick(r);
  const std::uint64_t progress = rank.fetching_ended ? 0 : source_.progress(r) + rank.answers;
  take_in(r, transfer::event::Tick{progress});
  decide(r);
}

void World::on_message(std::uint32_t to, std::uint32_t from, const std::string& bytes) {
  transfer::Message message;
  if (!transfer::decode(bytes, &message)) violated("a message that nobody can read");
  using namespace transfer::message;
  const bool down = std::holds_alternative<NextBroadcasts>(message) ||
                    std::holds_alternative<EndOfList>(message) ||
                    std::holds_alternative<StartBroadcasts>(message) ||
                    (std::holds_alternative<SourceAlive>(message) && to != 0);
  if (down) network_.forward(to, bytes);
  if (const auto* grant = std::get_if<GrantChunks>(&message))
    ranks_[to].told_no_more |= grant->chunks.size() < grant->requested;
  trace_.add(time_.now(), "rank {}: message {} from {}", to, message.index(), from);
  tell(to, transfer::event::Received{from, std::move(message)});
}

void World::on_broadcast(std::uint32_t r, std::uint32_t chunk) {
  Rank& rank = ranks_[r];
  const transfer::Buffer buffer = rank.broadcasting.at(chunk);
  rank.broadcasting.erase(chunk);
  Memory* here = &memory(r, buffer, chunk, "receive");
  trace_.add(time_.now(), "rank {}: chunk {} broadcast", r, chunk);
  if (here->filling) {
    here->filling = false;
    here->whole = true;
    here->check = check_of(chunk);
    if (struck(Kind::kCorrupt, r, rank.received_bytes)) here->check ^= 1;
    rank.received_bytes += scenario_.layout.chunks[chunk].bytes;
  } else {
    --here->readers;
  }
  tell(r, transfer::event::BroadcastDone{chunk});
}

void World::on_fetched(std::uint32_t r, std::uint32_t chunk, Status status) {
  Rank& rank = ranks_[r];
  const transfer::Buffer buffer = rank.fetching.at(chunk);
  rank.fetching.erase(chunk);
  in_memory(r, chunk, buffer, std::move(status));
}

void World::in_memory(std::uint32_t r, std::uint32_t chunk, const transfer::Buffer& buffer,
                      Status status) {
  Memory* here = &memory(r, buffer, chunk, "fetch");
  here->filling = false;
  here->whole = status.has_value();
  here->check = check_of(chunk);
  trace_.add(time_.now(), "rank {}: chunk {} {}", r, chunk, status ? "fetched" : "not fetched");
  tell(r, transfer::event::Fetched{chunk, std::move(status)});
}

// ---- faults

const Fault* World::struck(Kind kind, std::uint32_t rank, std::uint64_t bytes) {
  for (const Fault& fault : scenario_.faults) {
    if (fault.kind != kind || fault.rank != rank || bytes < fault.after) continue;
    last_struck_ = time_.now();
    trace_.add(time_.now(), "rank {}: {}", rank, name_of(kind));
    return &fault;
  }
  return nullptr;
}

Error World::error_of(const Fault& fault) const {
  return {code_of(fault.kind), fmt::format("{} on rank {}", name_of(fault.kind), fault.rank)};
}

bool World::raised(const std::string& message) const {
  return std::any_of(raised_.begin(), raised_.end(), [&](const Error& error) {
    return message.find(error.message) != std::string::npos;
  });
}

// ---- memory

World::Memory& World::memory(std::uint32_t r, const transfer::Buffer& buffer, std::uint32_t chunk,
                             const char* what) {
  auto& pool = ranks_[r].memory[index(buffer.pool)];
  if (buffer.index >= pool.size())
    violated("rank {} uses a buffer that it does not have, to {} chunk {}", r, what, chunk);
  return pool[buffer.index];
}

World::Memory& World::fill(std::uint32_t r, const transfer::Buffer& buffer, std::uint32_t chunk,
                           const char* what) {
  Memory& here = memory(r, buffer, chunk, what);
  if (here.filling || here.readers > 0)
    violated("rank {} wants to {} chunk {} into a buffer that chunk {} is in", r, what, chunk,
             here.chunk);
  here = {};
  here.chunk = chunk;
  here.filling = true;
  return here;
}

void World::must_be_in_memory(const transfer::Entry& entry, const char* what) {
  const auto& pool = ranks_[entry.root].memory[index(Pool::kDownload)];
  if (std::none_of(pool.begin(), pool.end(), [&](const Memory& here) {
        return here.chunk == entry.chunk && here.whole && here.hashed;
      }))
    violated("chunk {} is {} before it is in rank {}'s memory", entry.chunk, what, entry.root);
}

// ---- actions

void World::carry_out(std::uint32_t r, const transfer::action::Fetch& fetch) {
  Rank& rank = ranks_[r];
  const std::uint32_t chunk = fetch.chunk;
  if (fetch.buffer.pool != Pool::kDownload)
    violated("rank {} lends a receive buffer to the download of chunk {}", r, chunk);
  if (downloaded_.test(chunk)) violated("chunk {} is downloaded twice, now by rank {}", chunk, r);
  if (rank.fetching_ended) {
    const bool lost = std::any_of(scenario_.faults.begin(), scenario_.faults.end(),
                                  [](const Fault& f) { return f.kind == Kind::kLost; });
    if (!lost) violated("rank {} fetches chunk {} after it ended its fetcher", r, chunk);
  }
  if (scenario_.holders[r].test(chunk)) violated("rank {} downloads what it holds", r);
  downloaded_.set(chunk);
  fill(r, fetch.buffer, chunk, "fetch");
  trace_.add(time_.now(), "rank {}: fetch {}", r, chunk);
  rank.fetching.emplace(chunk, fetch.buffer);
  const std::uint64_t bytes = scenario_.layout.chunks[chunk].bytes;
  const std::uint64_t so_far = rank.fetched_bytes;
  rank.fetched_bytes += bytes;
  Time wait = scenario_.source.request;
  if (struck(Kind::kSourceHang, r, so_far)) {
    hangs_ = rank.source_hangs = true;
    return;
  }
  if (const Fault* fault = struck(Kind::kSourceError, r, so_far)) {
    time_.after(wait + random_.between(0, 50 * kMillisecond), [this, r, chunk, fault] {
      if (ranks_[r].fetching.count(chunk) == 0) return;
      raised_.push_back(error_of(*fault));
      on_fetched(r, chunk, tl::unexpected(error_of(*fault)));
    });
    return;
  }
  if (const Fault* fault = struck(Kind::kSourcePause, r, so_far))
    wait += from_seconds(fault->seconds);
  time_.after(wait, [this, r, chunk, bytes] {
    if (ranks_[r].fetching_ended) return;
    ++ranks_[r].answers;
    source_.start(r, chunk, bytes);
  });
}

bool World::done_by(const Rank& rank, std::uint32_t number, std::uint32_t chunk) const {
  return scenario_.holders[number].test(chunk) || rank.written.test(chunk);
}

Time World::disk_takes(std::uint32_t r, std::uint64_t bytes) {
  const double rate = scenario_.disk.rate[r];
  if (rate <= 0 || !std::isfinite(rate)) return 0;
  const double seconds = static_cast<double>(bytes) * scenario_.disk.writers / rate;
  return from_seconds(seconds * (1 + scenario_.disk.jitter * random_.fraction()));
}

void World::carry_out(std::uint32_t r, const transfer::action::Read& read) {
  Rank& rank = ranks_[r];
  const std::uint32_t chunk = read.chunk;
  if (read.buffer.pool != Pool::kDownload)
    violated("rank {} lends a receive buffer to the read of chunk {}", r, chunk);
  if (!done_by(rank, r, chunk))
    violated("rank {} reads chunk {}, which it does not have", r, chunk);
  fill(r, read.buffer, chunk, "read");
  trace_.add(time_.now(), "rank {}: read {}", r, chunk);
  const Fault* fault = struck(Kind::kReadError, r, 0);
  time_.after(disk_takes(r, scenario_.layout.chunks[chunk].bytes),
              [this, r, chunk, fault, buffer = read.buffer] {
                if (fault != nullptr) raised_.push_back(error_of(*fault));
                in_memory(r, chunk, buffer,
                          fault != nullptr ? Status(tl::unexpected(error_of(*fault))) : Status());
              });
}

void World::carry_out(std::uint32_t r, const transfer::action::Hash& hash) {
  Rank& rank = ranks_[r];
  Memory& here = memory(r, hash.buffer, hash.chunk, "hash");
  if (!here.whole || here.chunk != hash.chunk)
    violated("rank {} hashes chunk {}, which is not in the buffer", r, hash.chunk);
  ++here.readers;
  const auto bytes = static_cast<double>(scenario_.layout.chunks[hash.chunk].bytes);
  rank.hash_free = std::max(rank.hash_free, time_.now());
  if (scenario_.hash_rate > 0) rank.hash_free += from_seconds(bytes / scenario_.hash_rate);
  const Fault* wrong = hash.from == transfer::action::Hash::From::kSource
                           ? struck(Kind::kWrongHash, r, rank.fetched_bytes)
                           : nullptr;
  time_.at(rank.hash_free, [this, r, hash, wrong, &here] {
    --here.readers;
    here.hashed = true;
    Status status;
    if (wrong != nullptr) {
      raised_.push_back(error_of(*wrong));
      status = tl::unexpected(error_of(*wrong));
    }
    trace_.add(time_.now(), "rank {}: chunk {} hashed", r, hash.chunk);
    tell(r, transfer::event::Hashed{hash.chunk, std::move(status), {here.check, 0}});
  });
}

void World::carry_out(std::uint32_t r, const transfer::action::Write& write) {
  Rank& rank = ranks_[r];
  const std::uint32_t chunk = write.chunk;
  Memory& here = memory(r, write.buffer, chunk, "write");
  if (!here.whole || here.chunk != chunk || !here.hashed)
    violated("rank {} writes chunk {}, which is not in the buffer", r, chunk);
  if (here.check != check_of(chunk)) violated("rank {} writes wrong bytes of chunk {}", r, chunk);
  if (scenario_.holders[r].test(chunk)) violated("rank {} writes chunk {}, which it has", r, chunk);
  if (rank.writing.test(chunk)) violated("rank {} writes chunk {} twice", r, chunk);
  rank.writing.set(chunk);
  ++here.readers;
  const std::uint64_t bytes = scenario_.layout.chunks[chunk].bytes;
  const std::uint64_t so_far = rank.written_bytes;
  rank.written_bytes += bytes;
  if (struck(Kind::kDiskHang, r, so_far)) {
    hangs_ = true;
    return;
  }
  const Fault* fault = struck(Kind::kDiskError, r, so_far);
  Time& writer = *std::min_element(rank.writer_free.begin(), rank.writer_free.end());
  writer = std::max(writer, time_.now()) + disk_takes(r, bytes);
  if (fault != nullptr) raised_.push_back(error_of(*fault));
  write_ends(r, chunk, write.buffer, writer,
             fault != nullptr ? Status(tl::unexpected(error_of(*fault))) : Status());
}

void World::write_ends(std::uint32_t r, std::uint32_t chunk, transfer::Buffer buffer, Time when,
                       Status status) {
  time_.at(when, [this, r, chunk, buffer, status = std::move(status)] {
    --memory(r, buffer, chunk, "write").readers;
    if (status) ranks_[r].written.set(chunk);
    trace_.add(time_.now(), "rank {}: chunk {} {}", r, chunk, status ? "written" : "not written");
    tell(r, transfer::event::Written{chunk, status});
  });
}

void World::carry_out(std::uint32_t r, const transfer::action::Broadcast& post) {
  if (ranks_[r].left) violated("rank {} posts a broadcast after the end", r);
  if (post.number >= list_.size()) violated("rank {} posts more than the list has", r);
  if (!listed_[post.number]) {
    listed_[post.number] = true;
    list_[post.number] = post;
  }
  const auto& first = list_[post.number];
  if (first.chunk != post.chunk || first.root != post.root || first.audience != post.audience)
    violated("rank {} posts chunk {} as number {}, where another rank posted chunk {}", r,
             post.chunk, post.number, first.chunk);
  trace_.add(time_.now(), "rank {}: post {} of root {}, number {}", r, post.chunk, post.root,
             post.number);
  if (post.root == r) {
    Memory& here = memory(r, post.buffer, post.chunk, "send");
    if (!here.whole || here.chunk != post.chunk)
      violated("rank {} sends chunk {}, which is not in the buffer", r, post.chunk);
    ++here.readers;
  } else {
    if (post.buffer.pool != Pool::kReceive)
      violated("rank {} lends a download buffer to a broadcast", r);
    fill(r, post.buffer, post.chunk, "receive");
  }
  ranks_[r].broadcasting.emplace(post.chunk, post.buffer);
  network_.post(r, post.number, post.chunk, post.root, post.audience);
}

void World::check_sent(std::uint32_t from, const transfer::Message& message) {
  using namespace transfer::message;
  if (const auto* ready = std::get_if<ChunkReady>(&message)) {
    must_be_in_memory(ready->entry, "announced");
    if (announced_.test(ready->entry.chunk))
      violated("rank {} announces chunk {} twice", from, ready->entry.chunk);
    announced_.set(ready->entry.chunk);
  }
  if (std::holds_alternative<RequestChunks>(message) && ranks_[from].told_no_more)
    violated("rank {} asks for chunks after it was told that there are no more", from);
  if (const auto* next = std::get_if<NextBroadcasts>(&message)) {
    for (const transfer::Entry& entry : next->entries) must_be_in_memory(entry, "listed");
  }
}

void World::carry_out(std::uint32_t r, const transfer::action::Send& send) {
  check_sent(r, send.message);
  network_.send(r, send.to, transfer::encode(send.message));
  const std::uint64_t most = 64 * (scenario_.layout.chunks.size() + 16) * scenario_.ranks +
                             static_cast<std::uint64_t>(1000 * time_.seconds()) * scenario_.ranks;
  if (network_.messages() > most) violated("{} messages", network_.messages());
}

void World::carry_out(std::uint32_t r, const transfer::action::SendToAll& send) {
  check_sent(r, send.message);
  network_.forward(r, transfer::encode(send.message));
}

void World::carry_out(std::uint32_t r, const transfer::action::EndFetching&) {
  Rank& rank = ranks_[r];
  if (std::exchange(rank.fetching_ended, true)) return;
  source_.stop(r);
  if (rank.source_hangs) return;  // its end waits for what does not come back
  for (const auto& [number, buffer] : rank.fetching) {
    const std::uint32_t chunk = number;
    time_.after(kMillisecond, [this, r, chunk] {
      if (ranks_[r].fetching.count(chunk) == 0) return;
      on_fetched(r, chunk, fail(ExitCode::kStopped, kEndedFetch));
    });
  }
}

void World::carry_out(std::uint32_t r, const transfer::action::Leave&) {
  Rank& rank = ranks_[r];
  if (std::exchange(rank.left, true)) violated("rank {} leaves twice", r);
  ++left_;
  trace_.add(time_.now(), "rank {}: leaves", r);
  for (const auto& pool : rank.memory) {
    for (const Memory& here : pool) {
      if (here.filling || here.readers > 0)
        violated("rank {} leaves while chunk {} is on its way", r, here.chunk);
    }
  }
}

void World::carry_out(std::uint32_t r, const transfer::action::GiveUp& give_up) {
  trace_.add(time_.now(), "rank {}: gives up: {}", r, give_up.error.message);
  given_up_ = give_up;
}

// ---- the end

Ran World::ended(const std::string& how) const { return {time_.happened(), time_.seconds(), how}; }

Ran World::verdict() {
  const double stall = scenario_.stall_timeout_s;
  const double looks = 2 * stall / transfer::kLooks;
  const double since = to_seconds(last_struck_);
  if (all_asked_ >= 0 &&
      time_.seconds() > to_seconds(all_asked_) + transfer::kOrderlyEnd + looks + 0.5)
    violated("all were asked to stop at {:.3f} s, and it took till {:.3f} s",
             to_seconds(all_asked_), time_.seconds());
  const double longest = 2 * stall + std::min(transfer::kLastWord, stall) + looks + 30;
  if (!scenario_.trickles && time_.seconds() > since + longest + 60)
    violated("it took {:.1f} s after the last fault", time_.seconds() - since);

  const auto known = [&](const Error& error) {
    if (error.message.find(kEndedFetch) != std::string::npos)
      violated("a consequence is given as the cause: {}", error.message);
    const bool stalled = error.message.find("nothing moved") != std::string::npos;
    const bool corrupt = error.message.find("other bytes than were sent") != std::string::npos;
    if (stalled && !hangs_) violated("not stalled, and ended as if: {}", error.message);
    if (!stalled && !corrupt && !raised(error.message))
      violated("nobody had this cause: {}", error.message);
  };
  if (given_up_) {
    known(given_up_->error);
    if (!hangs_) violated("given up though nothing hangs: {}", given_up_->error.message);
    return ended("given up, as something hung");
  }
  std::size_t told = 0;
  const Error* agreed = nullptr;
  for (const Rank& rank : ranks_) {
    const auto& cause = rank.scheduler->ended_by();
    const auto& failure = rank.scheduler->failure();
    told += cause ? 1 : 0;
    // The lowest rank's that is no mere consequence (Fabric::agree).
    if (failure && (agreed == nullptr ||
                    (agreed->code == ExitCode::kStopped && failure->code != ExitCode::kStopped)))
      agreed = &*failure;
  }
  if (told != 0 && told != ranks_.size())
    violated("{} of {} ranks know that the list was ended", told, ranks_.size());
  if (told > 0) {
    const auto& cause = *ranks_[0].scheduler->ended_by();
    for (const Rank& rank : ranks_) {
      if (rank.scheduler->ended_by()->error.message != cause.error.message)
        violated("two causes: {}; {}", cause.error.message,
                 rank.scheduler->ended_by()->error.message);
    }
    if (first_ && first_->message != cause.error.message)
      violated("the cause is \"{}\", where \"{}\" came first", cause.error.message,
               first_->message);
    known(cause.error);
    return ended("stopped");
  }
  if (agreed != nullptr) {
    known(*agreed);
    return ended("failed at the end");
  }
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    const plan::Bits& held = scenario_.holders[r];
    for (std::uint32_t chunk = 0; chunk < scenario_.layout.chunks.size(); ++chunk) {
      if (!held.test(chunk) && !ranks_[r].written.test(chunk))
        violated("staged, and rank {} lacks chunk {}", r, chunk);
    }
  }
  return ended("staged");
}

}  // namespace stage_model::simulation
