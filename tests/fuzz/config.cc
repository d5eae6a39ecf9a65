// The site's configuration, and the sizes and times in it.
#include "stage_model/config.h"

#include <cmath>

#include "stage_model/units.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string text(fuzz::text_of(data, size));
  const auto config = parse_config(text, "FILE");
  if (fuzz::ok_or_one_line(config)) {
    fuzz::expect(!config->roots.empty(), "there is a root");
    for (const std::string& root : config->roots)
      fuzz::expect(root.starts_with('/'), "a root is absolute");
    for (const PortRange& ports : {config->launcher_ports, config->mpi_ports}) {
      fuzz::expect(ports.first > 0 && ports.first <= ports.last, "ports are a range");
    }
    for (const double time :
         {config->deadline_s, config->rendezvous_timeout_s, config->heartbeat_timeout_s,
          config->engine_start_timeout_s, config->stall_timeout_s, config->kill_wait_s,
          config->partial_keep_s}) {
      fuzz::expect(std::isfinite(time) && time >= 0, "every wait has an end");
    }
  }
  fuzz::ok_or_one_line(parse_size(text));
  for (const auto& number : {parse_rate(text), parse_duration(text)}) {
    if (fuzz::ok_or_one_line(number))
      fuzz::expect(std::isfinite(*number) && *number >= 0, "it is a number");
  }
  return 0;
}
