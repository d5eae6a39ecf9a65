// stage-launch --check: tells an admin, on a node, what is not right.
#pragma once

#include <string>
#include <vector>

#include "engine/launch/options.h"
#include "stage_model/config.h"

namespace stage_model::launch {

// Prints "ok|warn|FAIL what: detail and what to do", one line per check. Returns 0, or 2 if
// anything fails. The only place that runs a Slurm command.
int check_node(const Options& options);

// The part that looks at Slurm's configuration (check_slurm.cc). Pure: text in, findings out.
struct Finding {
  enum class Grade { kOk, kWarn, kFail };
  Grade grade = Grade::kOk;
  std::string what;
  std::string detail;  // with what to do
};

// `text`: the output of `scontrol show config`.
std::vector<Finding> check_slurm(const std::string& text, const Config& config);

}  // namespace stage_model::launch
