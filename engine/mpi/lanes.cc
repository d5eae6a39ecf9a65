#include "engine/mpi/lanes.h"

#include <algorithm>
#include <functional>

namespace stage_model::mpi {

Lanes::Lanes(const Fabric& fabric, int lanes,
             const std::vector<std::vector<std::uint32_t>>& audiences)
    : rank_(static_cast<std::uint32_t>(fabric.rank())), comms_(lanes, MPI_COMM_NULL) {
  for (MPI_Comm& comm : comms_) MPI_Comm_dup(fabric.world(), &comm);
  if (audiences.empty()) return;
  MPI_Comm_dup(fabric.world(), &pairs_);
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Comm_group(fabric.world(), &world);
  // In the list's order on every rank, so that overlapping sets cannot wait for each other in a
  // ring.
  for (const auto& ranks : audiences) {
    Audience& audience = audiences_.emplace_back();
    audience.ranks = ranks;
    audience.member = std::binary_search(ranks.begin(), ranks.end(), rank_);
    if (!audience.member || ranks.size() == 2) continue;
    const std::vector<int> members(ranks.begin(), ranks.end());
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group_incl(world, static_cast<int>(members.size()), members.data(), &group);
    MPI_Comm_create_group(fabric.world(), group, static_cast<int>(audiences_.size()),
                          &audience.comm);
    MPI_Group_free(&group);
  }
  MPI_Group_free(&world);
}

Lanes::~Lanes() {
  for (MPI_Comm& comm : comms_) MPI_Comm_free(&comm);
  for (Audience& audience : audiences_) {
    if (audience.comm != MPI_COMM_NULL) MPI_Comm_free(&audience.comm);
  }
  if (pairs_ != MPI_COMM_NULL) MPI_Comm_free(&pairs_);
}

bool Lanes::takes_part(std::uint32_t audience) const {
  return audience == kEveryone || audiences_[audience].member;
}

void Lanes::post(std::uint64_t number, std::uint32_t audience, std::uint32_t root, std::byte* data,
                 std::uint64_t length, std::uint32_t tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  const auto count = static_cast<int>(length);  // fits: plan::kMaxChunkSize
  if (audience == kEveryone) {
    MPI_Ibcast(data, count, MPI_BYTE, static_cast<int>(root), comms_[number % comms_.size()],
               &request);
  } else if (const auto& ranks = audiences_[audience].ranks; ranks.size() > 2) {
    const auto at = std::lower_bound(ranks.begin(), ranks.end(), root) - ranks.begin();
    MPI_Ibcast(data, count, MPI_BYTE, static_cast<int>(at), audiences_[audience].comm, &request);
  } else if (rank_ == root) {
    const std::uint32_t other = ranks[0] == root ? ranks[1] : ranks[0];
    MPI_Isend(data, count, MPI_BYTE, static_cast<int>(other), 0, pairs_, &request);
  } else {
    MPI_Irecv(data, count, MPI_BYTE, static_cast<int>(root), 0, pairs_, &request);
  }
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
  tags.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) tags.push_back(tags_[completed_[i]]);
  std::sort(completed_.begin(), completed_.begin() + count, std::greater<>());
  for (int i = 0; i < count; ++i) {
    requests_.erase(requests_.begin() + completed_[i]);
    tags_.erase(tags_.begin() + completed_[i]);
  }
  for (const std::uint32_t tag : tags) done(tag);
  return true;
}

}  // namespace stage_model::mpi
