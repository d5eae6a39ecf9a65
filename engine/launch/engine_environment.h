// The engine's environment, built from nothing: a SLURM_* or PMI_* variable of the prolog's would
// make an MPI believe that it is somewhere else, and start N jobs of one rank.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/launch/identity.h"
#include "stage_model/config.h"

namespace stage_model::launch {

struct EnvironmentInputs {
  const Config* config = nullptr;
  const Identity* identity = nullptr;
  std::string session;  // a directory of the user's own
  std::string node;
  std::size_t nodes = 1;
  std::string address;                 // of this launcher; "" with one node
  std::vector<std::string> pmix;       // "NAME=VALUE" from the PMIx server
  std::vector<std::string> inherited;  // "NAME=VALUE" that a caller by hand passes on
};

// Later ones win: defaults, inherited, configured, then what must be so.
std::vector<std::string> engine_environment(const EnvironmentInputs& inputs);

// Of `environment` (as in environ) what a caller by hand passes on: settings of MPI and UCX,
// proxies and certificates. Nothing that may be a secret.
std::vector<std::string> inheritable(const char* const* environment);

}  // namespace stage_model::launch
