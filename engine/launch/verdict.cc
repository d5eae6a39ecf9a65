#include "engine/launch/verdict.h"

namespace stage_model::launch {

bool Verdict::add(const Report& report) {
  const bool better = !best_ || report.weight > best_->weight;
  if (better) best_ = report;
  return better;
}

Weight weight_of_engine_reason(ExitCode code) {
  const bool may_be_a_consequence = code == ExitCode::kFabric || code == ExitCode::kStopped;
  return may_be_a_consequence ? Weight::kEngineFabric : Weight::kEngine;
}

ExitCode failure_code(std::uint32_t number) {
  const bool known = number >= static_cast<std::uint32_t>(ExitCode::kUsage) &&
                     number <= static_cast<std::uint32_t>(ExitCode::kStopped);
  return known ? static_cast<ExitCode>(number) : ExitCode::kStopped;
}

}  // namespace stage_model::launch
