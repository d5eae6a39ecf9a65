// The site's configuration, stage_model.toml: read by the plugin and by stage-launch, never by the
// engine (which gets options and environment from them). etc/stage_model.toml documents every key.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stage_model/result.h"
#include "stage_model/stores.h"

namespace stage_model {

enum class Keep { kAlways, kJob };             // what the epilog does with a staged directory
enum class NodeFault { kReport, kDrain };      // what happens on a fault of the node's own

struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;  // inclusive
};

struct Config {
  // [paths]
  std::vector<std::string> roots = {"/var/lib/stage-model"};  // first one: default destination
  std::string state_dir = "/run/stage-model";                 // per-job records, root only
  std::string launcher = "stage-launch";                      // absolute, or beside PATH default
  std::string engine = "stage-engine";
  // [limits]
  double deadline_s = 1800;           // whole staging, from the prolog's start
  double rendezvous_timeout_s = 60;   // all launchers must have met by then
  double heartbeat_timeout_s = 5;     // a launcher or its node counts as lost
  double engine_start_timeout_s = 60; // from rendezvous to MPI_Init done
  double stall_timeout_s = 60;        // an engine that reports nothing is ended
  double kill_wait_s = 2;             // TERM to KILL
  std::uint32_t max_models = 8;       // NAME=URL per job
  std::uint32_t max_nodes = 4096;
  // [ports]
  PortRange launcher_ports = {24600, 24855};
  PortRange mpi_ports = {24900, 25923};
  // [network]
  std::string interfaces;                         // e.g. "eth0,eth1" or CIDRs; empty: chosen
  std::map<std::string, std::string> addresses;   // node name → address, tried after the resolver
  // [source]
  std::vector<std::string> schemes = default_schemes();
  std::vector<std::string> credentials;           // names of variables taken along at submit
  // [engine]
  std::map<std::string, std::string> environment; // UCX_*, OMPI_*, …: set for the engine
  std::vector<std::string> options;               // extra stage-engine options, before the user's
  // [policy]
  Keep keep = Keep::kAlways;
  NodeFault node_fault = NodeFault::kReport;
  double partial_keep_s = 86400;  // partial data of stopped runs; 0 removes at once
  // [auth]
  std::string key_file;  // shared key for the rendezvous; empty: munge
  std::string munge_socket;  // empty: libmunge's default
};

// What Slurm's own limits on a prolog (PrologTimeout, PrologEpilogTimeout) and on a batch script that
// waits for one (BatchStartTimeout) must allow at least, in seconds: the staging's deadline, and the
// time to end it and say why.
double needed_slurm_limit(const Config& config);

// Reads and checks the file. The file must belong to root (or the caller) and not be writable by
// group or others. Errors: kUsage; the message names file, line and key. Thread-safe.
Result<Config> load_config(const std::string& path);

// The same from text; `name` stands for the file in messages.
Result<Config> parse_config(const std::string& text, const std::string& name);

// Where the file is looked for: $STAGE_MODEL_CONFIG is honoured only by stage-launch --config and
// the plugin's "config=PATH" argument; this is the directory of $SLURM_CONF, else /etc/slurm, plus
// "stage_model.toml".
std::string default_config_path();

}  // namespace stage_model
