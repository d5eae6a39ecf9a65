// Names of objects in messages: one line, whatever bytes they hold.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/text.h"

namespace stage_model::source {

// printable(); very long names are cut.
inline std::string show(std::string_view name) {
  constexpr std::size_t kMost = 300;
  return printable(name.substr(0, kMost)) + (name.size() > kMost ? "…" : "");
}

}  // namespace stage_model::source
