#include "spank/slurm_conf.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace stage_model::spank {
namespace {

constexpr std::size_t kMaxBytes = 8 << 20;

std::optional<double> number(std::string_view text) {
  unsigned seconds = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (result.ec != std::errc() || seconds == 0 || seconds >= 65534) return std::nullopt;
  return seconds;
}

}  // namespace

Timeouts parse_timeouts(std::string_view slurm_conf) {
  Timeouts both;
  Timeouts own;
  while (!slurm_conf.empty()) {
    const std::size_t end = std::min(slurm_conf.find('\n'), slurm_conf.size());
    std::string line(slurm_conf.substr(0, end));
    slurm_conf.remove_prefix(std::min(end + 1, slurm_conf.size()));
    line.resize(std::min(line.find('#'), line.size()));
    std::erase_if(line, [](unsigned char c) { return std::isspace(c) != 0; });
    std::transform(line.begin(), line.end(), line.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals);
    const std::string value = line.substr(equals + 1);
    if (key == "prologepilogtimeout") both = {number(value), number(value)};
    if (key == "prologtimeout") own.prolog_s = number(value);
    if (key == "epilogtimeout") own.epilog_s = number(value);
  }
  return {own.prolog_s ? own.prolog_s : both.prolog_s, own.epilog_s ? own.epilog_s : both.epilog_s};
}

Timeouts timeouts_from_file() {
  const char* path = std::getenv("SLURM_CONF");
  std::ifstream file(path != nullptr ? path : "/etc/slurm/slurm.conf");
  std::string text;
  char buffer[4096];
  while (text.size() < kMaxBytes && (file.read(buffer, sizeof buffer) || file.gcount() > 0)) {
    text.append(buffer, static_cast<std::size_t>(file.gcount()));
  }
  return parse_timeouts(text);
}

}  // namespace stage_model::spank
