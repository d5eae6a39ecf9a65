#include "engine/cast/lanes.h"

#include <algorithm>
#include <functional>

namespace stage_model::cast {

Lanes::Lanes(const Fabric& fabric, int lanes) : comms_(lanes, MPI_COMM_NULL) {
  for (MPI_Comm& comm : comms_) MPI_Comm_dup(fabric.world(), &comm);
}

Lanes::~Lanes() {
  for (MPI_Comm& comm : comms_) MPI_Comm_free(&comm);
}

void Lanes::post(std::uint64_t number, int root, std::byte* data, std::uint64_t length,
                 std::uint32_t tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  // length fits an int: plan::kMaxChunkSize.
  MPI_Ibcast(data, static_cast<int>(length), MPI_BYTE, root, comms_[number % comms_.size()],
             &request);
  requests_.push_back(request);
  tags_.push_back(tag);
}

bool Lanes::poll(const std::function<void(std::uint32_t)>& done) {
  if (requests_.empty()) return false;
  completed_.resize(requests_.size());
  int count = 0;
  MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, completed_.data(),
               MPI_STATUSES_IGNORE);
  if (count <= 0) return false;
  std::vector<std::uint32_t> tags;
  for (int i = 0; i < count; ++i) tags.push_back(tags_[completed_[i]]);
  std::sort(completed_.begin(), completed_.begin() + count, std::greater<>());
  for (int i = 0; i < count; ++i) {
    requests_.erase(requests_.begin() + completed_[i]);
    tags_.erase(tags_.begin() + completed_[i]);
  }
  for (const std::uint32_t tag : tags) done(tag);
  return true;
}

}  // namespace stage_model::cast
