// Sizes, rates and durations as people write them, in options and in the configuration file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stage_model/result.h"

namespace stage_model {

// Bytes. "4096", "16MiB", "1.5GiB" (1024), "200MB" (1000), "64k" = "64KiB". Strict: no sign, no
// trailing text, no overflow of 64 bits. Errors: kUsage, the message quotes the text.
Result<std::uint64_t> parse_size(std::string_view text);

// Bytes per second. "50Gbps", "400Mbit/s" (bits, 1000), "6GB/s", "6GiB/s"; a bare number is bytes/s.
Result<double> parse_rate(std::string_view text);

// Seconds. "90", "1.5s", "250ms", "30m", "1h", "1d".
Result<double> parse_duration(std::string_view text);

// "16 MiB", "3.2 GiB", "17 B": for messages; not meant to be parsed.
std::string format_size(std::uint64_t bytes);

}  // namespace stage_model
