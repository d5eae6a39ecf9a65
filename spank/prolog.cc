#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

#include "engine/base/fd.h"
#include "engine/base/text.h"
#include "spank/credentials.h"
#include "spank/destination.h"
#include "spank/hooks.h"
#include "spank/job.h"
#include "spank/launcher.h"
#include "spank/marker.h"
#include "spank/seal.h"
#include "stage_model/launch_order.h"
#include "stage_model/record.h"
#include "stage_model/request.h"

extern char** environ;

namespace stage_model::spank {
namespace {

std::string prolog_variable(const std::string& name) {
  const char* value = std::getenv((kPrologPrefix + name).c_str());
  return value != nullptr ? value : "";
}

// Keeps the launcher's deadline, and the time it takes to end it, below slurmd's own limit: that
// one would drain the node.
double deadline(SlurmNode& slurm, const Config& config) {
  const auto limit = slurm.prolog_timeout();
  if (!limit) return config.deadline_s;
  const double margin = 2 * config.kill_wait_s + 10;
  return std::min(config.deadline_s, std::max(*limit - margin, *limit / 3));
}

Status write_order_file(const std::string& path, const LaunchOrder& order) {
  ::unlink(path.c_str());  // of an earlier try of a requeued job
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const std::string text = write_order(order);
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return fail(ExitCode::kDestination, path + ": cannot be written: " + errno_text(errno));
  }
  return {};
}

// Is the disk itself at fault, whatever the user asked for? "" if it can be written.
std::string disk_fault(const std::string& root) {
  const std::string path = root + "/.stage-model-probe." + std::to_string(::getpid());
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  int error = file ? 0 : errno;
  if (file && (::write(file.get(), "x", 1) != 1 || ::fsync(file.get()) != 0)) error = errno;
  if (file) ::unlink(path.c_str());
  // A full disk is full of somebody's models, not broken.
  if (error == 0 || error == ENOSPC || error == EDQUOT || error == EEXIST) return {};
  return root + ": " + errno_text(error);
}

std::string why_pending(const LauncherEnd& end, double deadline_s) {
  switch (end.stop) {
    case LauncherStop::kJobOver:
      return "the job ended while its model was being staged";
    case LauncherStop::kDeadline:
      return "the staging was not done after " + std::to_string(std::lround(deadline_s)) +
             " s (limits.deadline_s, or slurm.conf's limit on prologs)";
    case LauncherStop::kHookStopped:
      return "slurmd stopped the prolog";
    case LauncherStop::kNone:
      break;
  }
  return "the launcher ended without an outcome (" + end.text + ")";
}

void log_tail(SlurmNode& slurm, const std::string& path) {
  constexpr std::size_t kLines = 10;
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (lines.size() == kLines) lines.erase(lines.begin());
    lines.push_back(one_line(line, 400));
  }
  for (const std::string& line : lines) slurm.error("stage-launch: " + line);
}

// One job's prolog on this node; each step of it leaves the record fit for a crash right after.
class Prolog {
 public:
  Prolog(SlurmNode& slurm, const PluginArguments& arguments)
      : slurm_(slurm), arguments_(arguments) {}

  void run() {
    auto identity = job_identity();
    if (!identity) return slurm_.error(identity.error().message);  // no id, no record, no step
    job_ = std::move(*identity);
    record_.uid = job_.uid;
    record_.gid = job_.gid;
    record_.user = job_.user;
    const auto config = config_on_node(arguments_);
    if (config) config_ = *config;
    // Before the record: a record without a mark would not hold back a step.
    if (const Status marked = mark_job(arguments_.jobs_dir, job_name()); !marked) {
      return slurm_.error(marked.error().message);
    }
    if (!save()) return;
    if (!config) return finish(config.error());
    if (const Status status = stage(); !status) return finish(status.error());
    finish({});
  }

 private:
  [[nodiscard]] std::string job_name() const { return std::to_string(job_.id); }
  [[nodiscard]] std::string record_dir() const { return config_.state_dir + "/" + job_name(); }

  bool save() {
    const Status status = write_record(config_.state_dir, job_name(), record_);
    // Steps find no record, or the pending one, and end: closed, not open.
    if (!status) slurm_.error(status.error().message);
    return status.has_value();
  }

  Status stage() {
    const auto request = decode_request(prolog_variable(kRequestVariable), Site{config_, true});
    if (!request) return tl::unexpected<Error>(request.error());
    if (Status status = add_nodes(slurm_, config_.max_nodes, job_); !status) return status;
    const auto plan = plan_destinations(*request, config_, user_directory(job_));
    if (!plan) return tl::unexpected<Error>(plan.error());
    const auto credentials = credentials_of(*request);
    if (!credentials) return tl::unexpected<Error>(credentials.error());

    // What will be there, before it is: an epilog of another job must know whose it is.
    record_.root = plan->root;
    for (const EngineCommand& run : plan->runs) record_.models.push_back({run.name, run.directory});
    if (!save()) return fail(ExitCode::kDestination, config_.state_dir + ": cannot be written");

    LaunchOrder order;
    order.job = job_name();
    order.index = job_.index;
    for (const std::string& node : job_.nodes) order.nodes.push_back({node, ""});
    order.uid = job_.uid;
    order.gid = job_.gid;
    order.user = job_.user;
    order.user_root = plan->user_root;
    order.root = plan->root;
    order.record_dir = record_dir();
    order.runs = plan->runs;
    for (const auto& [name, value] : *credentials) {
      order.credentials.push_back(std::string(name).append("=").append(value));
    }
    order.deadline_s = deadline(slurm_, config_);
    return launch(order);
  }

  Result<Credentials> credentials_of(const JobRequest& request) {
    const std::string sealed = prolog_variable(kCredentialsVariable);
    if (sealed.empty()) return Credentials{};
    const auto packed = unseal(sealed, job_.uid, config_.munge_socket);
    if (!packed) return tl::unexpected<Error>(packed.error());
    return unpack_credentials(*packed, credential_names(request, config_.credentials));
  }

  Status launch(const LaunchOrder& order) {
    const auto program = find_program(config_.launcher);
    if (!program) return tl::unexpected<Error>(program.error());
    LauncherRun run;
    run.program = *program;
    run.config_path = arguments_.config_path;
    run.order_path = record_dir() + "/order";
    run.log_path = record_dir() + "/launcher.log";
    run.term_after_s = order.deadline_s + config_.kill_wait_s + 1;
    run.kill_wait_s = config_.kill_wait_s + 1;
    if (job_.index == 0) {  // the one node that asks slurmctld
      run.job_is_over = [this] { return slurm_.job_life(job_.id) == JobLife::kEnds; };
    }
    if (Status status = write_order_file(run.order_path, order); !status) return status;
    const auto end = run_launcher(run);
    ::unlink(run.order_path.c_str());  // it holds credentials
    if (!end) return tl::unexpected<Error>(end.error());

    const auto outcome = read_record(config_.state_dir, job_name());
    if (!outcome) return tl::unexpected<Error>(outcome.error());
    if (outcome->found) record_ = outcome->record;
    if (record_.state == RecordState::kPending) {
      log_tail(slurm_, run.log_path);
      return fail(ExitCode::kStopped, why_pending(*end, order.deadline_s));
    }
    return {};
  }

  // Writes what stage() could not leave to the launcher, and tells those who wait.
  void finish(const Error& error) {
    if (!error.message.empty()) {
      record_.state = RecordState::kFailed;
      record_.code = error.code;
      record_.node = job_.node;
      record_.reason = error.message;
      save();
    }
    if (record_.state != RecordState::kFailed) return;
    const std::string reason =
        (record_.node.empty() ? "" : record_.node + ": ") + one_line(record_.reason);
    slurm_.error("job " + job_name() + ": " + reason);
    // Before the node list is known every node's index is 0: then only one of one may speak.
    if (!job_.nodes.empty() && job_.index == 0) slurm_.notify_job(job_.id, reason);
    if (config_.node_fault == NodeFault::kDrain && record_.code == ExitCode::kDestination &&
        record_.node == job_.node && !record_.root.empty()) {
      if (const std::string fault = disk_fault(record_.root); !fault.empty()) {
        slurm_.drain_node(job_.node, fault);
      }
    }
  }

  SlurmNode& slurm_;
  const PluginArguments& arguments_;
  Config config_;
  Job job_;
  Record record_;
};

// Job ids repeat (slurmctld's state was lost, or they came round): what an older job of this number
// left here because its epilog never ran must not speak for this one.
void drop_stale_mark(SlurmNode& slurm, const PluginArguments& arguments) {
  const char* id = std::getenv("SLURM_JOB_ID");
  const std::string job = id != nullptr ? id : "";
  if (!valid_job(job) || look_for_mark(arguments.jobs_dir, job) != Mark::kThere) return;
  const auto config = config_on_node(arguments);
  const std::string state_dir = config ? config->state_dir : Config{}.state_dir;
  if (const Status status = remove_record(state_dir, job); !status) {
    slurm.error(status.error().message);
  }
  unmark_job(arguments.jobs_dir, job);
}

}  // namespace

bool job_asked() {
  return std::getenv((std::string(kPrologPrefix) + kRequestVariable).c_str()) != nullptr;
}

void run_prolog(SlurmNode& slurm, const PluginArguments& arguments) {
  if (!job_asked()) return drop_stale_mark(slurm, arguments);
  Prolog(slurm, arguments).run();
}

}  // namespace stage_model::spank
