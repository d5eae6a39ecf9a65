// What stage-launch is asked to do on one node. Written by the plugin in the prolog (a TOML file,
// root, 0600) or put together from stage-launch's own options. It holds credentials: never log it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "stage_model/config.h"
#include "stage_model/result.h"

namespace stage_model {

struct Node {
  std::string name;     // as Slurm (or the site) calls it; used in messages
  std::string address;  // IPv4 or IPv6 literal; empty: resolve `name`, then config's map
};

// One engine run; several run one after another under one rendezvous. The launcher knows nothing
// of models: it starts `arguments` and reports how that ended.
struct EngineCommand {
  std::string name;  // "" or the user's NAME: for messages and the record
  // Where the model goes: the launcher puts it behind the first argument, and into the record. "" by
  // hand: then `arguments` are all.
  std::string directory;
  std::vector<std::string> arguments;  // of stage-engine, without argv[0]; no secrets
};

struct LaunchOrder {
  static constexpr int kFormat = 2;
  std::string job;  // rendezvous identity, e.g. "1234"; [A-Za-z0-9._-]{1,64}
  std::uint32_t index = 0;
  std::vector<Node> nodes;  // rank order; nodes[index] is this one
  uid_t uid = 0;
  gid_t gid = 0;
  std::string user;                      // login name, may be empty
  std::string user_root;                 // ROOT/USER to create for the user; empty: none
  std::string root;                      // the configured root that user_root lies in
  std::string record_dir;                // where the outcome is written, e.g. /run/stage-model/1234
  std::vector<EngineCommand> runs;
  std::vector<std::string> credentials;  // "NAME=VALUE", passed on a descriptor
  double deadline_s = 0;                 // seconds from start; 0: config's
};

// What holds for an order however it came about. Errors: kUsage, "FIELD: what is wrong".
Status check_order(const LaunchOrder& order);

std::string write_order(const LaunchOrder& order);         // TOML text
Result<LaunchOrder> parse_order(const std::string& text);  // strict: unknown keys are errors
// Reads at most 16 MiB from an O_NOFOLLOW root-owned file.
Result<LaunchOrder> load_order(const std::string& path);

}  // namespace stage_model
