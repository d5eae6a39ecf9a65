#include "engine/launch/ports.h"

namespace stage_model::launch {
namespace {

std::uint32_t number_of(const std::string& job) {
  // A Slurm job id keeps its distance from its neighbours; any other name is hashed (FNV-1a).
  std::uint32_t number = 0;
  std::uint32_t hash = 2166136261U;
  bool digits = !job.empty();
  for (const char c : job) {
    digits = digits && c >= '0' && c <= '9';
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return digits ? number : hash;
}

}  // namespace

std::vector<std::uint16_t> port_sequence(const std::string& job, const PortRange& range) {
  std::vector<std::uint16_t> ports;
  if (range.last < range.first) return ports;
  const std::uint32_t count = range.last - range.first + 1U;
  const std::uint32_t start = number_of(job) % count;
  ports.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    ports.push_back(static_cast<std::uint16_t>(range.first + (start + i) % count));
  }
  return ports;
}

}  // namespace stage_model::launch
