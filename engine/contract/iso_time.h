// Times as Azure's signatures and tokens hold them: ISO 8601 in UTC. Pure; thread-safe.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace stage_model {

// A date, or with minutes, seconds and fractions, then 'Z'. Nothing for any other form.
std::optional<std::time_t> parse_iso_time(std::string_view text);

std::string format_iso_time(std::time_t when);  // "2026-01-31T08:00:00Z"

}  // namespace stage_model
