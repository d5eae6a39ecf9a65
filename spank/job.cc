#include "spank/job.h"

#include <pwd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace stage_model::spank {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::optional<std::uint32_t> number(const std::string& text) {
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (text.empty() || result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

std::optional<uid_t> uid_of(const char* name) {
  char buffer[16384];
  struct passwd entry {};
  struct passwd* found = nullptr;
  ::getpwnam_r(name, &entry, buffer, sizeof buffer, &found);
  if (found == nullptr) return std::nullopt;
  return found->pw_uid;
}

}  // namespace

Result<Job> job_identity() {
  Job job;
  const auto id = number(environment("SLURM_JOB_ID"));
  const auto uid = number(environment("SLURM_JOB_UID"));
  if (!id || !uid) {
    return fail(ExitCode::kStopped, "SLURM_JOB_ID or SLURM_JOB_UID is not in the environment");
  }
  job.id = *id;
  job.uid = *uid;
  job.node = environment("SLURMD_NODENAME");
  job.user = environment("SLURM_JOB_USER");
  const auto gid = number(environment("SLURM_JOB_GID"));
  if (gid) job.gid = *gid;
  if (!gid || job.user.empty()) {
    char buffer[16384];
    struct passwd entry {};
    struct passwd* found = nullptr;
    ::getpwuid_r(job.uid, &entry, buffer, sizeof buffer, &found);
    if (!gid && found == nullptr) {
      return fail(ExitCode::kStopped, "uid " + std::to_string(job.uid) + " is not known here");
    }
    if (!gid) job.gid = found->pw_gid;
    if (job.user.empty() && found != nullptr) job.user = found->pw_name;
  }
  return job;
}

Status add_nodes(SlurmNode& slurm, std::uint32_t max_nodes, Job& job) {
  std::string list = environment("SLURM_JOB_NODELIST");  // since 23.02
  if (list.empty()) list = environment("SLURM_NODELIST");
  if (list.empty())
    return fail(ExitCode::kStopped, "the job's node list is not in the environment");
  job.nodes = slurm.expand_nodes(list);
  if (job.nodes.size() > max_nodes) {
    return fail(ExitCode::kUsage, "the job has " + std::to_string(job.nodes.size()) +
                                      " nodes; this site stages on at most " +
                                      std::to_string(max_nodes));
  }
  const auto own = std::find(job.nodes.begin(), job.nodes.end(), job.node);
  if (own == job.nodes.end()) {
    return fail(ExitCode::kStopped, "node " + job.node + " is not in the job's node list");
  }
  job.index = static_cast<std::uint32_t>(own - job.nodes.begin());
  return {};
}

std::string user_directory(const Job& job) {
  const std::string_view user = job.user;
  // What Slurm calls everybody whose uid it cannot resolve: each of them has a directory of his
  // own.
  if (user == "nobody" && uid_of("nobody") != job.uid) return std::to_string(job.uid);
  const bool plain = !user.empty() && user.size() <= 128 && user[0] != '.' && user[0] != '-' &&
                     std::all_of(user.begin(), user.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' ||
                              c == '@' || c == '+';
                     });
  return plain ? job.user : std::to_string(job.uid);
}

}  // namespace stage_model::spank
