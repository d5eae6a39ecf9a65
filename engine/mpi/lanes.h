// The communicators that broadcasts go round, and the broadcasts in flight on them.
// Main thread only. Never blocks, except in the constructor and destructor (collective).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/mpi/fabric.h"

namespace stage_model::mpi {

class Lanes {
 public:
  // audiences: sets of ranks (ascending) that get communicators of their own, the same list on
  // every rank; sets of two are served point to point.
  Lanes(const Fabric& fabric, int lanes, const std::vector<std::vector<std::uint32_t>>& audiences);
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  static constexpr std::uint32_t kEveryone = UINT32_MAX;
  // Is this rank in the audience?
  bool takes_part(std::uint32_t audience) const;

  // Posts the broadcast with sequence number `number` on its lane or its audience's communicator.
  // `data` stays valid until completed. Every rank of the audience posts the same numbers, lengths
  // and roots (as ranks of the world) in the same order.
  void post(std::uint64_t number, std::uint32_t audience, std::uint32_t root, std::byte* data,
            std::uint64_t length, std::uint32_t tag);

  // Calls done(tag) for each broadcast that has completed.
  bool poll(const std::function<void(std::uint32_t tag)>& done);

  std::size_t in_flight() const { return requests_.size(); }

 private:
  struct Audience {
    std::vector<std::uint32_t> ranks;
    bool member = false;
    MPI_Comm comm = MPI_COMM_NULL;  // of members, when there are more than two
  };

  std::uint32_t rank_;
  std::vector<MPI_Comm> comms_;
  MPI_Comm pairs_ = MPI_COMM_NULL;
  std::vector<Audience> audiences_;
  std::vector<MPI_Request> requests_;
  std::vector<std::uint32_t> tags_;
  std::vector<int> completed_;
};

}  // namespace stage_model::mpi
