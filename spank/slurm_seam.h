// Everything the plugin asks of Slurm, in one place: the hooks are tested with a fake of this.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stage_model::spank {

enum class Context { kOther, kLocal, kAllocator, kRemote, kDaemon, kJobScript };

// What a running prolog must know of its job.
enum class JobLife { kRuns, kEnds, kUnknown };  // kUnknown: slurmctld could not be asked

// What slurmctld's configuration says that a staging depends on.
struct PrologSettings {
  bool alloc = false;  // PrologFlags
  bool defer_batch = false;
  bool serial = false;
  std::optional<double> batch_start_timeout_s;  // none: not known
};

// What prolog and epilog ask, which a program of its own can ask as well (slurm_node.h). One object
// per hook call; not thread-safe. Nothing here throws.
class SlurmNode {
 public:
  SlurmNode() = default;
  virtual ~SlurmNode() = default;
  SlurmNode(const SlurmNode&) = delete;
  SlurmNode& operator=(const SlurmNode&) = delete;

  virtual std::vector<std::string> expand_nodes(const std::string& node_list) = 0;
  // The limit that slurmd puts on the whole prolog or epilog, in seconds; no value: none.
  virtual std::optional<double> prolog_timeout() = 0;
  virtual std::optional<double> epilog_timeout() = 0;
  // An RPC, to be called in a child that can be abandoned: slurmctld may hang, and Slurm's library
  // may end the process.
  virtual JobLife job_life(std::uint32_t job) = 0;
  // RPCs, in a child of their own for a few seconds at most.
  virtual void notify_job(std::uint32_t job, const std::string& message) = 0;
  virtual void drain_node(const std::string& node, const std::string& why) = 0;

  // One line each, "stage-model: " is put before: the daemon's log, at submit the terminal.
  virtual void error(const std::string& message) = 0;
};

// What a plugin can ask besides, by the handle that a hook is called with.
class Slurm : public virtual SlurmNode {
 public:
  virtual Context context() = 0;

  // Submit: goes to prolog and epilog as SPANK_<name>. False: Slurm refused.
  virtual bool control_setenv(const std::string& name, const std::string& value) = 0;
  virtual void control_unsetenv(const std::string& name) = 0;
  // From slurmctld; an RPC of some milliseconds. No value: it could not be asked.
  virtual std::optional<PrologSettings> prolog_settings() = 0;

  // Step.
  virtual std::optional<std::uint32_t> job_id() = 0;
  virtual std::optional<uid_t> job_uid() = 0;
  virtual std::optional<int> local_task() = 0;
  virtual bool is_batch_script() = 0;
  virtual std::vector<std::string> job_environment() = 0;  // "NAME=VALUE"
  virtual void job_setenv(const std::string& name, const std::string& value) = 0;
  virtual void job_unsetenv(const std::string& name) = 0;
  virtual void tell_user(const std::string& message) = 0;  // the step's stderr (only in task hooks)
};

}  // namespace stage_model::spank
