// The heart: every chunk's life from GET (or disk) over broadcast to disk, all at once, with
// bounded memory. Runs on the main thread; fetches, hashes and writes run on others and report by
// events.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/mpi/control.h"
#include "engine/mpi/fabric.h"
#include "engine/mpi/lanes.h"
#include "engine/mpi/sequencer.h"
#include "engine/transfer/buffers.h"
#include "engine/transfer/events.h"
#include "engine/transfer/fetch_window.h"
#include "engine/transfer/nap.h"
#include "engine/transfer/workers.h"
#include "engine/plan/plan.h"
#include "engine/report/stage_span.h"
#include "engine/report/trace.h"
#include "engine/source/source.h"
#include "engine/store/store.h"

namespace stage_model::transfer {

// kStaged is the schedule of other tools, for honest comparison: download all, barrier, then
// broadcast chunk by chunk in the order of the files, read back from disk.
enum class Schedule { kSequenced, kStaged };
enum class Verify { kNone, kTransfer, kStore, kDisk };

struct MoveOptions {
  std::uint64_t chunk_size = 16 << 20;  // bytes
  std::size_t receive_buffers = 16;     // R; at least 1
  std::size_t download_buffers = 8;     // D; at least 1
  std::size_t downloading = 16;         // chunks being fetched at once, at most
  std::size_t pipeline = 8;             // broadcasts in flight
  std::size_t per_root = 4;             // of them, those of one root; at least 1
  int lanes = 8;                        // communicators
  unsigned hashers = 2;                 // threads
  bool take_over = true;                // idle downloaders take the tail of slow ones
  Verify verify = Verify::kTransfer;
  Schedule schedule = Schedule::kSequenced;
  double stall_timeout_s = 300;  // nothing at all moved on this rank
};

// What the mover works on; everything outlives it.
struct MoveJob {
  const plan::Listing& listing;
  const plan::Layout& layout;
  const plan::Assignment& assignment;
  const plan::Bits& held;          // chunks that this rank has on disk already
  bool downloads = true;           // does this rank download
  bool write = true;               // false: everything is in place here, this rank only sends
  report::Trace* trace = nullptr;  // null: no trace
};

struct MoveStats {
  report::StageSpan download, bcast, write, verify;
  std::uint64_t taken_over = 0;  // rank 0: chunks that changed owner
  std::uint64_t control_messages = 0;
  source::Counters source;
};

class Mover {
 public:
  // Called once per round (about every 0.1-1 ms; up to 20 ms where there is one rank) with the
  // bytes on disk; an error (cancel, deadline) stops the move on all ranks.
  using Tick = std::function<Status(std::uint64_t done)>;

  Mover(mpi::Fabric& fabric, const MoveJob& job, store::Staging& staging,
        std::unique_ptr<source::Fetcher> fetcher, const MoveOptions& options,
        const report::Clock& clock, Tick tick);
  ~Mover();

  // Collective. Ends on all ranks with the same cause, after every broadcast that was begun has
  // been completed by all.
  tl::expected<MoveStats, mpi::Cause> run();

  // Digests of all extents that this rank fetched or received; index as in Layout::extents.
  const std::vector<store::Digest>& digests() const { return digests_; }

 private:
  // One chunk in memory on this rank.
  struct Work {
    std::byte* buffer = nullptr;
    bool owner = false;         // root of its broadcast: a download buffer
    std::uint32_t fetches = 0;  // outstanding
    std::uint32_t writes = 0;   // outstanding
    bool hashing = false;
    bool posted = false;          // its broadcast has begun
    bool broadcast_done = false;  // or not needed
    bool stored = false;          // writes submitted (or not needed)
    std::uint64_t check[2] = {0, 0};
    report::ChunkTimes times;
  };

  bool step();
  bool handle_events();
  void on_fetched(Event& event);
  void on_hashed(Event& event);
  void on_written(Event& event);
  void on_message(int from, mpi::Message message);
  void on_entry(const mpi::Entry& entry);
  void on_stop(const mpi::Cause& cause);
  bool has_enough() const;
  bool ask_for_work();
  bool start_chunks();
  void start_download(std::uint32_t chunk);
  void start_read(std::uint32_t chunk);
  void hash(std::uint32_t chunk, const Work& work);
  void store(std::uint32_t chunk, Work& work);
  void announce_ready();
  bool post_broadcasts();
  void on_broadcast(std::uint32_t chunk);
  void finish_if_done(std::uint32_t chunk);
  void sequence(const mpi::Entry& entry);
  bool on_disk(std::uint32_t chunk) const;
  std::vector<std::uint32_t> chunks_in_order() const;
  void shard_is_down();
  void start_broadcasts();
  void flush_entries();
  void fail_here(const Error& error);
  void stop_all(const mpi::Cause& cause);
  void drop_unannounced();
  void settle();
  void end_fetching();
  bool finished() const;
  void over();
  void asked_to_stop(const Error& error);
  void watch();
  Error last_word() const;
  bool source_moves();
  void tell_alive();
  void leave();
  void trace(report::Trace::Stage stage, std::uint32_t chunk, double begin) const;

  mpi::Fabric& fabric_;
  const MoveJob& job_;
  store::Staging& staging_;
  std::unique_ptr<source::Fetcher> fetcher_;
  const MoveOptions options_;
  const report::Clock& clock_;
  Tick tick_;
  const bool alone_;     // one rank: nothing to broadcast
  bool only_downloads_;  // staged schedule, first half
  bool told_ = false;    // staged schedule: our shard is on disk, and rank 0 knows
  int shards_down_ = 0;  // staged schedule, rank 0
  std::vector<std::uint32_t> downloaded_;  // staged schedule: our shard

  std::optional<mpi::Control> control_;
  std::optional<mpi::Lanes> lanes_;
  std::optional<mpi::Sequencer> sequencer_;  // rank 0
  std::vector<mpi::Entry> unsent_;           // rank 0: entries of this round
  std::optional<Buffers> receive_;
  std::optional<Buffers> download_;
  EventQueue events_;
  std::optional<Workers> hashers_;
  std::optional<Workers> readers_;

  std::unordered_map<std::uint32_t, Work> work_;  // chunks in memory
  std::deque<std::uint32_t> to_read_;             // ours to resend from disk
  std::deque<std::uint32_t> granted_;             // ours to download
  std::deque<mpi::Entry> order_;                 // entries not posted yet
  std::deque<std::uint32_t> ready_;               // ours in memory, not announced yet
  std::size_t announced_ = 0;                     // ours announced, their broadcasts not done
  Nap nap_;                                       // between two looks at the broadcasts in flight
  FetchWindow window_;                            // of downloads
  FetchWindow read_window_;   // of what is resent from disk, which is far faster
  std::size_t fetching_ = 0;  // chunks being fetched or read
  std::uint32_t asked_ = 0;   // chunks asked for, not answered
  bool no_more_ = false;      // rank 0 has no more work for us
  std::size_t to_move_ = 0;   // entries the list will have
  std::size_t posted_ = 0;    // entries posted (or, alone, chunks finished)
  std::uint64_t bytes_done_ = 0;

  std::optional<Error> failed_here_;
  std::optional<mpi::Cause> stopped_;
  bool settled_ = false;
  std::optional<double> over_since_;   // this rank or another failed
  std::future<void> ending_fetching_;  // where the fetcher may take its time to end
  double last_progress_ = 0;
  double looked_at_source_ = 0, told_alive_ = 0;
  std::uint64_t seen_of_source_ = 0;
  std::vector<store::Digest> digests_;
  MoveStats stats_;
};

}  // namespace stage_model::transfer
