#include "engine/transfer/broadcasts.h"

#include <algorithm>

namespace stage_model::transfer {

std::uint32_t Broadcasts::announce() {
  const std::uint32_t chunk = ready_.front();
  ready_.pop_front();
  ++announced_;
  return chunk;
}

bool Broadcasts::lists(std::uint32_t chunk) const {
  return std::any_of(order_.begin(), order_.end(),
                     [chunk](const Entry& entry) { return entry.chunk == chunk; });
}

void Broadcasts::skip() {
  order_.pop_front();
  ++passed_;
}

std::uint64_t Broadcasts::post() {
  order_.pop_front();
  ++in_flight_;
  return passed_++;
}

void Broadcasts::done(bool ours) {
  --in_flight_;
  if (ours) --announced_;
}

}  // namespace stage_model::transfer
