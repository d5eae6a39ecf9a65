#include "spank/slurm_calls.h"

extern "C" {
#include <slurm/slurm.h>
#include <slurm/spank.h>
}

#include "spank/slurm_node.h"

namespace stage_model::spank {
namespace {

class SlurmCalls : public Slurm, public SlurmNodeCalls {
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

  void control_unsetenv(const std::string& name) override {
    spank_job_control_unsetenv(handle_, name.c_str());
  }

  std::optional<PrologSettings> prolog_settings() override {
    slurm_conf_t* conf = nullptr;
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS || conf == nullptr) return std::nullopt;
    PrologSettings settings;
    settings.alloc = (conf->prolog_flags & PROLOG_FLAG_ALLOC) != 0;
    settings.defer_batch = (conf->prolog_flags & PROLOG_FLAG_DEFER_BATCH) != 0;
    settings.serial = (conf->prolog_flags & PROLOG_FLAG_SERIAL) != 0;
    settings.batch_start_timeout_s = conf->batch_start_timeout;
    slurm_free_ctl_conf(conf);
    return settings;
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

  bool is_batch_script() override {
    std::uint32_t step = 0;
    return spank_get_item(handle_, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
           step == SLURM_BATCH_SCRIPT;
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
