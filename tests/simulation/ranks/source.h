// The virtual source: GETs that share its egress and each rank's link max-min fairly, as a fluid. A
// rank's GETs share its rate evenly, so what each has got so far is one number, and the next to end
// is the one with the smallest start + size.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/simulation/base/virtual_time.h"
#include "tests/simulation/ranks/scenario.h"

namespace stage_model::simulation {

class VirtualSource {
 public:
  using OnEnd = std::function<void(std::uint32_t rank, std::uint32_t chunk)>;

  VirtualSource(VirtualTime& time, const SourceModel& model, OnEnd on_end);

  // Its bytes begin to come now.
  void start(std::uint32_t rank, std::uint32_t chunk, std::uint64_t bytes);
  void stop(std::uint32_t rank);  // all of its GETs; they do not end
  // Grows while bytes come.
  std::uint64_t progress(std::uint32_t rank) const;

 private:
  struct Rank {
    double got = 0;   // bytes that a GET open since the beginning would have got
    double rate = 0;  // of each GET
    std::set<std::pair<double, std::uint32_t>> ends;  // value of got at which it ends, chunk
  };
  void advance();
  void share();
  void wake();

  VirtualTime& time_;
  const SourceModel& model_;
  OnEnd on_end_;
  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> by_link_;  // slowest first
  Time advanced_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace stage_model::simulation
