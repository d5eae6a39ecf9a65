// One staging on this rank: the stages that main.cpp calls, in order, and what they hand on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/mpi/broadcast.h"
#include "engine/mpi/fabric.h"
#include "engine/options.h"
#include "engine/plan/plan.h"
#include "engine/report/progress.h"
#include "engine/report/stage_span.h"
#include "engine/report/status_channel.h"
#include "engine/report/summary.h"
#include "engine/source/source.h"
#include "engine/store/store.h"
#include "engine/transfer/driver.h"

namespace stage_model {

class Run {
 public:
  // A stage's outcome is the same on every rank: each ends with an agreement.
  using Outcome = tl::expected<void, Cause>;

  Run(Options options, source::Variables variables, mpi::Fabric& fabric,
      report::StatusChannel& status, std::string transport);
  ~Run();

  Outcome list();      // rank 0 asks the source, everyone gets the list
  Outcome presence();  // what each rank holds already
  Outcome space();     // does it fit everywhere: before the plan, which is as large as the model
  Outcome plan();      // chunks and who downloads them
  Outcome move();      // download, broadcast, write, verify: all at once
  Outcome verify();    // --verify store | disk
  Outcome publish();   // everywhere or nowhere
  void report();       // lines, JSON, DEST/.stage-model

  bool dry_run() const { return options_.dry_run; }
  void print_plan() const;
  // After a failure that makes what is on disk worthless.
  void discard();

 private:
  Status list_here();
  Status presence_here();
  void drop_other_versions();
  Status verify_store();
  Status verify_disk();
  Status tick(std::uint64_t done);
  void choose_sizes();
  std::uint64_t longest_chunk() const;
  double max_bandwidth() const;
  Situation situation();  // probes the fabric: collective
  void print_tuning(const Situation& situation);
  std::uint64_t needed_bytes() const;
  std::vector<std::vector<store::ProvenExtent>> proven_extents() const;
  std::vector<std::string> doubts() const;
  void count_nodes(report::Summary* summary);
  report::Summary summarize();
  void write_trace();
  // Runs blocking work on a thread of its own while this rank goes on telling that it lives.
  Status in_background(const char* what, const std::function<Status()>& work);

  Options options_;
  source::Variables variables_;
  mpi::Fabric& fabric_;
  report::StatusChannel& status_;
  std::string transport_;
  mpi::Broadcast broadcast_;
  report::Clock clock_;
  std::optional<report::Progress> progress_;

  std::unique_ptr<source::Source> source_;
  plan::Listing listing_;
  std::unique_ptr<store::Staging> staging_;
  store::Presence presence_;
  std::vector<std::uint32_t> downloaders_;
  plan::Layout layout_;
  plan::Assignment assignment_;
  plan::Bits held_;  // chunks on this rank's disk
  std::vector<store::Digest> digests_;
  Tuning tuning_;
  transfer::Stats stats_;
  std::optional<report::Trace> trace_;  // --trace
  report::StageSpan list_span_, plan_span_, verify_span_, publish_span_;
  std::uint64_t own_needed_ = 0;
};

}  // namespace stage_model
