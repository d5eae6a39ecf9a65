// Carries out what the scheduler decides: broadcasts and messages by MPI on the main thread;
// fetches, hashes, reads and writes by others, which report through a queue. Decides nothing
// itself, and is the only code of the transfer that calls MPI.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "engine/mpi/control.h"
#include "engine/mpi/fabric.h"
#include "engine/mpi/lanes.h"
#include "engine/report/stage_span.h"
#include "engine/report/trace.h"
#include "engine/source/source.h"
#include "engine/store/store.h"
#include "engine/transfer/buffers.h"
#include "engine/transfer/completions.h"
#include "engine/transfer/options.h"
#include "engine/transfer/poll_interval.h"
#include "engine/transfer/scheduler.h"
#include "engine/transfer/workers.h"

namespace stage_model::transfer {

struct Stats {
  report::StageSpan download, bcast, write, verify;
  std::uint64_t taken_over = 0;  // rank 0: chunks that changed owner
  source::Counters source;
};

// What the driver works with; everything outlives it.
struct Means {
  mpi::Fabric& fabric;
  store::Staging& staging;
  const report::Clock& clock;
  report::Trace* trace = nullptr;  // null: no trace
};

class Driver {
 public:
  // Called once per round (about every 0.1-1 ms; up to 20 ms where there is one rank) with the
  // bytes on disk; an error (cancel, deadline) stops the transfer on all ranks.
  using Poll = std::function<Status(std::uint64_t done)>;

  // fetcher: null where this rank does not download.
  Driver(const Means& means, const RankPlan& plan, std::unique_ptr<source::Fetcher> fetcher,
         const Options& options, Poll poll);
  ~Driver();

  // Collective. Ends on all ranks with the same cause, after every broadcast that was begun has
  // been completed by all.
  tl::expected<Stats, Cause> run();

  // Digests of all extents that this rank fetched or received; index as in Layout::extents.
  const std::vector<store::Digest>& digests() const { return digests_; }

 private:
  // A buffer, and what is done with the chunk in it: download buffers first, then receive buffers.
  struct Slot {
    std::uint32_t chunk = 0;
    std::byte* memory = nullptr;
    bool read = false;        // from disk, not fetched
    std::uint32_t parts = 0;  // of its fetch or write, outstanding
    Status status;            // the first error of these
    report::ChunkTimes times;
  };

  Status allocate();
  void round();
  bool take_completions();
  bool receive_messages();
  bool poll_broadcasts();
  void tell(Event event);
  void carry_out_decisions();
  void leave();

  void carry_out(const action::Fetch& fetch);
  void carry_out(const action::Read& read);
  void carry_out(const action::Hash& hash);
  void carry_out(const action::Write& write);
  void carry_out(const action::Broadcast& broadcast);
  void carry_out(const action::Send& send);
  void carry_out(const action::SendToAll& send);
  void carry_out(const action::EndFetching& end);
  void carry_out(const action::Finishing& finishing);
  void carry_out(const action::Leave& leave);
  void carry_out(const action::GiveUp& give_up);

  void on_fetched(Slot& slot, Completion& part);
  void on_hashed(Slot& slot, Completion& hash);
  void on_written(Slot& slot, Completion& part);
  bool last_part(Slot& slot, const Status& status);

  std::size_t slot_of(const Buffer& buffer) const;
  Slot& begin(std::uint32_t chunk, const Buffer& buffer);
  const plan::Chunk& shape(std::uint32_t chunk) const { return plan_.layout.chunks[chunk]; }
  std::uint64_t source_progress() const;
  void trace(report::Trace::Stage stage, std::uint32_t chunk, double begin) const;

  mpi::Fabric& fabric_;
  store::Staging& staging_;
  const report::Clock& clock_;
  report::Trace* trace_;
  const RankPlan plan_;
  std::unique_ptr<source::Fetcher> fetcher_;
  const Options options_;
  Poll poll_;
  const bool alone_;  // one rank: nothing to broadcast

  std::optional<Buffers> receive_, download_;
  std::vector<Slot> slots_;
  CompletionQueue completions_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<Action> actions_;
  std::optional<mpi::Control> control_;
  std::optional<mpi::Lanes> lanes_;
  std::optional<Workers> hashers_, readers_;
  PollInterval poll_interval_;         // of the broadcasts in flight
  std::future<void> ending_fetching_;  // the fetcher may take its time to end
  std::vector<store::Digest> digests_;
  Stats stats_;
};

}  // namespace stage_model::transfer
