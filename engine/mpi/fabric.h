// MPI as the engine uses it: one rank per node, one thread that calls it, and no wait that blocks:
// every collective polls, sleeps, tells the launcher that we live, and gives up at a deadline.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stage_model/result.h"

namespace stage_model::mpi {

class Fabric {
 public:
  // Called while waiting, about every millisecond: beats, looks for a signal. A returned error
  // cannot be told to the others from inside a collective, so it ends the whole run (hard_stop).
  using Idle = std::function<Status()>;
  // Called by hard_stop before the process ends: last words, clean-up.
  using LastWords = std::function<void(const Error&)>;

  // MPI_Init. Errors: kUsage if a node has more than one rank (naming it), kFabric if the number of
  // ranks is not what the launcher, srun or mpirun promised (N singletons).
  // share_node: several ranks on a node are fine (tests of the fabric itself).
  static Result<std::unique_ptr<Fabric>> init(int* argc, char*** argv, bool share_node = false);
  ~Fabric();  // MPI_Finalize
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  MPI_Comm world() const { return world_; }
  const std::string& node() const { return nodes_[rank_]; }
  const std::string& node(int rank) const { return nodes_[rank]; }

  // deadline_s: seconds from now; 0: none.
  void on_wait(Idle idle, LastWords last_words, double deadline_s);

  // The end is near, and why is known: for so many seconds from now on wait() does not end the run
  // because a stop is asked for (again).
  void finishing(double seconds);

  // Until `done` returns true: polls, sleeping up to 1 ms. `what` completes "waiting for …".
  void wait(const std::function<bool()>& done, const char* what);
  void wait(MPI_Request request, const char* what);

  // From rank 0 to all; any length.
  void broadcast(std::string& bytes, const char* what);
  // Each rank's equally long words, all of them in rank order.
  std::vector<std::uint64_t> gather_all(const std::vector<std::uint64_t>& mine, const char* what);
  // Each rank's text at rank 0, in rank order; empty elsewhere.
  std::vector<std::string> gather_text(const std::string& mine, const char* what);
  // Seconds to add to this rank's MPI_Wtime() to get rank 0's: from the fastest of several round
  // trips (Cristian 1989). Collective.
  double clock_offset();
  // Element-wise, to every rank.
  void reduce(std::vector<double>& values, MPI_Op op, const char* what);

  // All ranks learn of the most telling failure: the lowest rank's among those that are not mere
  // consequences (kStopped). Nothing failed anywhere: an ok status.
  tl::expected<void, Cause> agree(const Status& mine, const char* what);

  // Ends every rank by MPI_Abort: for what cannot be agreed upon. Does not return.
  [[noreturn]] void hard_stop(const Error& error);

 private:
  Fabric() = default;
  Status check_size() const;
  Status check_one_per_node();
  void gather_names();
  void merge(void* all, std::size_t count, MPI_Datatype type, const char* what);

  int rank_ = 0;
  int size_ = 1;
  MPI_Comm world_ = MPI_COMM_NULL;
  std::vector<std::string> nodes_;
  Idle idle_;
  LastWords last_words_;
  double deadline_ = 0;       // MPI_Wtime
  double patient_until_ = 0;  // MPI_Wtime
};

}  // namespace stage_model::mpi
