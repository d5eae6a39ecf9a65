#include "engine/base/variables.h"

namespace stage_model {

std::string variable(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

}  // namespace stage_model
