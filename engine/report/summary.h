// How a run went, as lines for people and as JSON for machines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stage_model::report {

// One stage over all ranks. Stages overlap: `seconds` is first start to last end anywhere.
struct StageLine {
  std::string name;  // list, plan, download, bcast, write, verify, total
  std::uint64_t bytes = 0;
  double begin = 0;  // seconds since the start of the run
  double seconds = 0;
  std::string note;  // "43 objects, 2 retries"; may be empty
  bool line = true;  // one of the lines on stdout; else only in the JSON
};

// One node's part of what the counters sum up.
struct NodeLine {
  std::string node;
  std::vector<std::uint64_t> counts;  // as Summary::per_node names them
};

struct Summary {
  std::string source;
  std::string destination;
  std::string transport;  // the network that MPI goes over
  std::string broadcast;  // the algorithm
  std::string identity;
  int ranks = 1;
  std::uint64_t objects = 0;
  std::uint64_t model_bytes = 0;
  std::vector<StageLine> stages;
  std::vector<std::pair<std::string, double>> counters;  // name → number, for JSON
  std::vector<std::string> per_node;                     // names of what `nodes` counts
  std::vector<NodeLine> nodes;                           // in rank order, for JSON
};

// "[download] 327155712 bytes  1.234 s  0.265 GB/s  (43 objects)"; GB = 10^9 bytes.
std::string text(const Summary& summary);
std::string json(const Summary& summary);

// "; throttled 12 times, most on n3 (7)" of the counts with that index; "" if they are all 0.
std::string throttled(const std::vector<NodeLine>& nodes, std::size_t index);

// A JSON string with its quotes. `text` is UTF-8.
std::string json_string(std::string_view text);

}  // namespace stage_model::report
