// The part of --check that looks at Slurm's configuration. Pure: text in, findings out.
#pragma once

#include <string>
#include <vector>

#include "stage_model/config.h"

namespace stage_model::launch {

struct Finding {
  enum class Grade { kOk, kWarn, kFail };
  Grade grade = Grade::kOk;
  std::string what;
  std::string detail;  // with what to do
};

// `text`: the output of `scontrol show config`.
std::vector<Finding> check_slurm(const std::string& text, const Config& config);

}  // namespace stage_model::launch
