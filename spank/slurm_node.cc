// The seam's real implementation for a node's side: libslurm alone, no spank handle.
#include "spank/slurm_node.h"

extern "C" {
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>  // slurm_error()
// The configuration that the process has loaded. Not in a public header, but part of libslurmfull
// in every release so far; weak, so that the plugin loads where it is missing.
extern slurm_conf_t slurm_conf __attribute__((weak));
}

#include <cerrno>
#include <cstdlib>
#include <functional>

#include "spank/child.h"
#include "spank/slurm_conf.h"

namespace stage_model::spank {
namespace {

// 25.05 split PrologEpilogTimeout in two; which fields there are is asked of the compiler.
template <class Conf>
std::uint32_t prolog_seconds(const Conf& conf) {
  if constexpr (requires { conf.prolog_timeout; }) {
    return conf.prolog_timeout;
  } else {
    return conf.prolog_epilog_timeout;
  }
}

template <class Conf>
std::uint32_t epilog_seconds(const Conf& conf) {
  if constexpr (requires { conf.epilog_timeout; }) {
    return conf.epilog_timeout;
  } else {
    return conf.prolog_epilog_timeout;
  }
}

bool conf_is_loaded() { return &slurm_conf != nullptr && slurm_conf.slurm_conf != nullptr; }

std::optional<double> as_limit(std::uint32_t seconds) {
  if (seconds == 0 || seconds == NO_VAL16 || seconds == NO_VAL || seconds == INFINITE16 ||
      seconds == INFINITE) {
    return std::nullopt;
  }
  return seconds;
}

// Slurm's library wants to be told before it speaks to slurmctld, or from 23.11 on it ends the
// whole process ("No hash plugins loaded"); before 23.02.2 that call failed within a hook, and was
// not needed. To be called in a child only: what it is not content with is fatal too.
void begin_rpc() {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 2)
  static bool begun = false;
  if (!begun) slurm_init(nullptr);
  begun = true;
#endif
}

// Neither a library that ends its process nor a slurmctld that hangs may take the hook along, which
// would drain the node.
void rpc_in_child(const std::function<void()>& rpc) {
  constexpr double kSeconds = 10;
  auto child = Child::function([&] {
    begin_rpc();
    rpc();
    return 0;
  });
  if (child) child->wait(kSeconds);
}

}  // namespace

std::vector<std::string> SlurmNodeCalls::expand_nodes(const std::string& node_list) {
  std::vector<std::string> names;
  // `auto`: hostlist_t was a pointer until 23.11 and is a struct since.
  auto list = slurm_hostlist_create(node_list.c_str());
  if (list == nullptr) return names;
  while (char* name = slurm_hostlist_shift(list)) {
    names.emplace_back(name);
    std::free(name);
  }
  slurm_hostlist_destroy(list);
  return names;
}

std::optional<double> SlurmNodeCalls::prolog_timeout() {
  if (conf_is_loaded()) return as_limit(prolog_seconds(slurm_conf));
  return timeouts_from_file().prolog_s;
}

std::optional<double> SlurmNodeCalls::epilog_timeout() {
  if (conf_is_loaded()) return as_limit(epilog_seconds(slurm_conf));
  return timeouts_from_file().epilog_s;
}

JobLife SlurmNodeCalls::job_life(std::uint32_t job) {
  begin_rpc();
  job_info_msg_t* answer = nullptr;
  if (slurm_load_job(&answer, job, SHOW_ALL) != SLURM_SUCCESS || answer == nullptr) {
    return errno == ESLURM_INVALID_JOB_ID ? JobLife::kEnds : JobLife::kUnknown;
  }
  JobLife life = JobLife::kUnknown;
  // The base id of an array, and the leader of a heterogeneous job, bring the others along.
  for (std::uint32_t i = 0; i < answer->record_count; ++i) {
    const auto& info = answer->job_array[i];
    if (info.job_id != job) continue;
    const bool over = (info.job_state & JOB_STATE_BASE) > JOB_SUSPENDED;
    const bool ends = (info.job_state & JOB_COMPLETING) != 0;
    life = over || ends ? JobLife::kEnds : JobLife::kRuns;
  }
  slurm_free_job_info_msg(answer);
  return life;
}

void SlurmNodeCalls::notify_job(std::uint32_t job, const std::string& message) {
  std::string line = "stage-model: " + message;
  rpc_in_child([&] { slurm_notify_job(job, line.data()); });
}

void SlurmNodeCalls::drain_node(const std::string& node, const std::string& why) {
  update_node_msg_t update;
  slurm_init_update_node_msg(&update);
  std::string name = node;
  std::string reason = "stage-model: " + why;
  update.node_names = name.data();
  update.reason = reason.data();
  update.node_state = NODE_STATE_DRAIN;
  rpc_in_child([&] {
    if (slurm_update_node(&update) == SLURM_SUCCESS) return;
    error("node " + node + " could not be drained: " + slurm_strerror(errno));
  });
}

void SlurmNodeCalls::error(const std::string& message) {
  slurm_error("stage-model: %s", message.c_str());
}

}  // namespace stage_model::spank
