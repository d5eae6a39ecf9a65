// Names of objects in messages: one line, whatever bytes they hold.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace stage_model::source {

// Control bytes become \xNN; very long names are cut.
inline std::string show(std::string_view name) {
  constexpr std::size_t kMost = 300;
  std::string out;
  for (const char c : name.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  if (name.size() > kMost) out += "…";
  return out;
}

}  // namespace stage_model::source
