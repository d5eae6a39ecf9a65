// What --whoami prints for a store with identities. Pure.
#pragma once

#include <string>

#include "engine/auth/identity.h"

namespace stage_model::source {

// After identity.prepare().
inline std::string whoami_text(const std::string& source, const auth::Identity& identity) {
  std::string out = source + ": " + identity.describe();
  for (const std::string& why : identity.passed_over()) out += "\n  not " + why;
  return out;
}

}  // namespace stage_model::source
