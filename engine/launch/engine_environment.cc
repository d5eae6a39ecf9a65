#include "engine/launch/engine_environment.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "stage_model/channel.h"

namespace stage_model::launch {
namespace {

using Variables = std::map<std::string, std::string>;

void set(Variables* variables, const std::string& entry) {
  const std::size_t equals = entry.find('=');
  if (equals == std::string::npos || equals == 0) return;
  (*variables)[entry.substr(0, equals)] = entry.substr(equals + 1);
}

// What the site says of the network. The engine chooses the rest (engine/mpi/network.h), from the
// address of this launcher.
void pass_network(Variables* variables, const Config& config) {
  const bool decided = variables->count("OMPI_MCA_btl_tcp_if_include") != 0 ||
                       variables->count("OMPI_MCA_btl_tcp_if_exclude") != 0;
  if (!config.interfaces.empty() && !decided)
    (*variables)["OMPI_MCA_btl_tcp_if_include"] = config.interfaces;
  const PortRange& ports = config.mpi_ports;
  if (ports.first == 0 || ports.last < ports.first) return;
  for (const char* family : {"v4", "v6"}) {
    variables->emplace(fmt::format("OMPI_MCA_btl_tcp_port_min_{}", family),
                       std::to_string(ports.first));
    variables->emplace(fmt::format("OMPI_MCA_btl_tcp_port_range_{}", family),
                       std::to_string(ports.last - ports.first + 1));
  }
}

}  // namespace

std::vector<std::string> engine_environment(const EnvironmentInputs& inputs) {
  Variables variables;
  const Identity& identity = *inputs.identity;
  variables["PATH"] = "/usr/local/bin:/usr/bin:/bin";
  variables["LANG"] = "C.UTF-8";
  for (const std::string& entry : inputs.inherited) set(&variables, entry);
  for (const auto& [name, value] : inputs.config->environment) variables[name] = value;
  pass_network(&variables, *inputs.config);

  // libpmix crashes without HOME where the uid has no passwd entry.
  variables["HOME"] = identity.home.empty() ? inputs.session : identity.home;
  if (!identity.name.empty()) {
    variables["USER"] = identity.name;
    variables["LOGNAME"] = identity.name;
  }
  variables["TMPDIR"] = inputs.session;
  // Open MPI 4 looks for its PMIx server only where it takes itself for launched by one.
  variables["OMPI_MCA_schizo"] = "^orte,slurm";
  for (const std::string& entry : inputs.pmix) set(&variables, entry);
  variables["PMIX_MCA_gds"] = "hash";  // the shared-memory store brings noise from its locks
  variables[kNodeVariable] = inputs.node;
  variables[kNodesVariable] = std::to_string(inputs.nodes);
  if (!inputs.address.empty()) variables[kAddressVariable] = inputs.address;

  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, value] : variables)
    environment.push_back(fmt::format("{}={}", name, value));
  return environment;
}

std::vector<std::string> inheritable(const char* const* environment) {
  constexpr std::array<std::string_view, 3> kPrefixes = {"OMPI_MCA_", "PMIX_MCA_", "UCX_"};
  constexpr std::array<std::string_view, 9> kNames = {
      "PATH",     "LANG",        "LD_LIBRARY_PATH", "https_proxy",    "no_proxy",
      "NO_PROXY", "HTTPS_PROXY", "SSL_CERT_FILE",   "STAGE_MODEL_PIN"};
  std::vector<std::string> kept;
  for (const char* const* entry = environment; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    bool keep = false;
    for (const std::string_view prefix : kPrefixes) {
      keep = keep || name.substr(0, prefix.size()) == prefix;
    }
    for (const std::string_view known : kNames) keep = keep || name == known;
    if (keep) kept.emplace_back(text);
  }
  return kept;
}

}  // namespace stage_model::launch
