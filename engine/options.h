// stage-engine's command line. Usage errors end in exit code 2 with a line that says what is meant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/filter.h"
#include "engine/source/source.h"
#include "engine/store/store.h"
#include "engine/transfer/options.h"
#include "engine/tune.h"
#include "stage_model/result.h"

namespace stage_model {

struct Options {
  std::string source;       // URL; may carry a signature: never log it
  std::string destination;  // absolute

  plan::Filter filter;
  std::string file_list;       // path
  std::string save_file_list;  // path
  store::StagingOptions staging;
  source::TransferOptions transfer;
  transfer::Options move;
  std::uint64_t chunk_size = 0;      // 0: from model and ranks
  Tuning tuning;                     // 0: chosen once model, ranks and fabric are known
  std::uint32_t download_ranks = 0;  // 0: all
  double max_bandwidth = 0;          // bytes/s of the whole cluster; 0: no limit
  double deadline_s = 0;             // 0: none
  std::string trace;                 // path
  std::string json;                  // path
  std::optional<bool> progress;      // unset: if stderr is a terminal
  bool dry_run = false;
  bool whoami = false;  // no destination then
};

// Parses, and blanks a signature in argv (ps must not show it). On --help and --version prints and
// exits 0. Errors: kUsage.
Result<Options> parse_options(int argc, char** argv);

}  // namespace stage_model
