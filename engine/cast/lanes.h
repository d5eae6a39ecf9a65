// The communicators that broadcasts go round, and the broadcasts in flight on them.
// Main thread only. Never blocks, except in the constructor and destructor (collective).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/cast/fabric.h"

namespace stage_model::cast {

class Lanes {
 public:
  Lanes(const Fabric& fabric, int lanes);
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // Posts the broadcast with sequence number `number` on its lane. `data` stays valid until
  // completed. Every rank posts the same numbers, lengths and roots in the same order.
  void post(std::uint64_t number, int root, std::byte* data, std::uint64_t length,
            std::uint32_t tag);

  // Calls done(tag) for each broadcast that has completed.
  bool poll(const std::function<void(std::uint32_t tag)>& done);

  std::size_t in_flight() const { return requests_.size(); }

 private:
  std::vector<MPI_Comm> comms_;
  std::vector<MPI_Request> requests_;
  std::vector<std::uint32_t> tags_;
  std::vector<int> completed_;
};

}  // namespace stage_model::cast
