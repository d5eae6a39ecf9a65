// Every chunk's life as Chrome/Perfetto trace events, one track for each rank and stage, so that
// people look at the overlap instead of believing it. Format: "Trace Event Format", Google 2016,
// complete events ("ph":"X", microseconds). Main thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stage_model::report {

// Seconds on the run's clock at which a chunk's stages began on this rank.
struct ChunkTimes {
  double get = 0, hash = 0, ready = 0, bcast = 0, write = 0;
};

class Trace {
 public:
  enum class Stage : std::uint8_t { kGet, kRead, kHash, kWait, kBcast, kWrite };

  void add(Stage stage, std::uint32_t chunk, double begin, double end, std::uint64_t bytes) {
    spans_.push_back({stage, chunk, begin, end, bytes});
  }

  // This rank's events, without the brackets around all; `offset` is added to each time, so that
  // all ranks stand on rank 0's clock.
  std::string events(int rank, const std::string& node, double offset) const;

 private:
  struct Span {
    Stage stage;
    std::uint32_t chunk;
    double begin, end;
    std::uint64_t bytes;
  };
  std::vector<Span> spans_;
};

// The whole file from the ranks' events.
std::string trace_file(const std::vector<std::string>& events);

}  // namespace stage_model::report
