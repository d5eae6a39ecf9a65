#include "spank/slurm_calls.h"

extern "C" {
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>
// The configuration that the process has loaded. Not in a public header, but part of libslurmfull
// in every release so far; weak, so that the plugin loads where it is missing.
extern slurm_conf_t slurm_conf __attribute__((weak));
}

#include <cerrno>
#include <cstdlib>
#include <functional>

#include "spank/child.h"
#include "spank/prolog_timeout.h"

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

class SlurmCalls : public Slurm {
 public:
  explicit SlurmCalls(spank_t handle) : handle_(handle) {}

  Context context() override {
    switch (spank_context()) {
      case S_CTX_LOCAL:
        return Context::kLocal;
      case S_CTX_ALLOCATOR:
        return Context::kAllocator;
      case S_CTX_REMOTE:
        return Context::kRemote;
      case S_CTX_SLURMD:
        return Context::kDaemon;
      case S_CTX_JOB_SCRIPT:
        return Context::kJobScript;
      default:
        return Context::kOther;
    }
  }

  bool control_setenv(const std::string& name, const std::string& value) override {
    return spank_job_control_setenv(handle_, name.c_str(), value.c_str(), 1) == ESPANK_SUCCESS;
  }

  std::optional<PrologFlags> prolog_flags() override {
    slurm_conf_t* conf = nullptr;
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS || conf == nullptr) return std::nullopt;
    const auto flags = conf->prolog_flags;
    slurm_free_ctl_conf(conf);
    return PrologFlags{(flags & PROLOG_FLAG_ALLOC) != 0, (flags & PROLOG_FLAG_DEFER_BATCH) != 0,
                       (flags & PROLOG_FLAG_SERIAL) != 0};
  }

  std::optional<std::uint32_t> job_id() override {
    std::uint32_t id = 0;
    if (spank_get_item(handle_, S_JOB_ID, &id) != ESPANK_SUCCESS) return std::nullopt;
    return id;
  }

  std::optional<uid_t> job_uid() override {
    uid_t uid = 0;
    if (spank_get_item(handle_, S_JOB_UID, &uid) != ESPANK_SUCCESS) return std::nullopt;
    return uid;
  }

  std::optional<int> local_task() override {
    int task = 0;
    if (spank_get_item(handle_, S_TASK_ID, &task) != ESPANK_SUCCESS) return std::nullopt;
    return task;
  }

  std::vector<std::string> job_environment() override {
    std::vector<std::string> result;
    char** environment = nullptr;
    if (spank_get_item(handle_, S_JOB_ENV, &environment) == ESPANK_SUCCESS) {
      for (; environment != nullptr && *environment != nullptr; ++environment) {
        result.emplace_back(*environment);
      }
    }
    return result;
  }

  void job_setenv(const std::string& name, const std::string& value) override {
    spank_setenv(handle_, name.c_str(), value.c_str(), 1);
  }

  void job_unsetenv(const std::string& name) override { spank_unsetenv(handle_, name.c_str()); }

  std::vector<std::string> expand_nodes(const std::string& node_list) override {
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

  std::optional<double> prolog_timeout() override {
    if (conf_is_loaded()) return as_limit(prolog_seconds(slurm_conf));
    return timeouts_from_file().prolog_s;
  }

  std::optional<double> epilog_timeout() override {
    if (conf_is_loaded()) return as_limit(epilog_seconds(slurm_conf));
    return timeouts_from_file().epilog_s;
  }

  JobLife job_life(std::uint32_t job) override {
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

  void notify_job(std::uint32_t job, const std::string& message) override {
    std::string line = "stage-model: " + message;
    rpc_in_child([&] { slurm_notify_job(job, line.data()); });
  }

  void drain_node(const std::string& node, const std::string& why) override {
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

  void error(const std::string& message) override {
    slurm_error("stage-model: %s", message.c_str());
  }
  void info(const std::string& message) override { slurm_info("stage-model: %s", message.c_str()); }
  void tell_user(const std::string& message) override {
    slurm_spank_log("stage-model: %s", message.c_str());
  }

 private:
  spank_t handle_;
};

}  // namespace

std::unique_ptr<Slurm> slurm_calls(spank_handle* handle) {
  return std::make_unique<SlurmCalls>(handle);
}

}  // namespace stage_model::spank
