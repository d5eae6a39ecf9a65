#include "spank/submit.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <string_view>
#include <vector>

#include "engine/contract/azure_secret.h"
#include "engine/contract/iso_time.h"
#include "spank/credentials.h"
#include "spank/seal.h"

extern char** environ;

namespace stage_model::spank {
namespace {

Status prefixed(const std::string& what, const Status& status) {
  if (status) return status;
  return fail(status.error().code, what + ": " + status.error().message);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// srun with a job id in its environment makes a step, not a job: its prologs are over.
bool inside_allocation(Slurm& slurm) {
  return slurm.context() == Context::kLocal && std::getenv("SLURM_JOB_ID") != nullptr;
}

Status check_prolog_settings(Slurm& slurm, const Site& site) {
  const auto settings = slurm.prolog_settings();
  if (!settings) return {};  // slurmctld does not answer: the submission itself will say so
  if (!settings->alloc || !settings->defer_batch) {
    return fail(ExitCode::kUsage,
                "this cluster cannot stage before the job starts: the admin must set "
                "PrologFlags=Alloc,DeferBatch in slurm.conf");
  }
  if (settings->serial) {
    return fail(ExitCode::kUsage,
                "this cluster runs one prolog at a time on a node, so that two jobs could wait for "
                "each other for ever: the admin must take Serial out of PrologFlags in slurm.conf");
  }
  const double needed = needed_slurm_limit(site.config);
  if (site.known && settings->batch_start_timeout_s && *settings->batch_start_timeout_s < needed) {
    return fail(
        ExitCode::kUsage,
        "this cluster would requeue a job whose model takes long to stage: the admin must set "
        "BatchStartTimeout=" +
            std::to_string(std::lround(needed)) +
            " or more in slurm.conf, or a lower limits.deadline_s in stage_model.toml");
  }
  return {};
}

// Whose a model is, by its URL's form: "" where a name of the site's own hides it.
std::string azure_account(const std::string& url) {
  constexpr std::string_view kAzure = "az://";
  if (!url.starts_with(kAzure)) return account_of_endpoint(url);
  return url.substr(kAzure.size(), url.find('/', kAzure.size()) - kAzure.size());
}

// A job that waits in the queue with a dead signature would only fail later. Whatever cannot be
// read is left to the engine, which says what is wrong with it.
Status check_expiry(std::string_view sas, std::time_t now, const std::string& variable) {
  const auto times = sas_times(sas);
  if (!times || !times->expires || *times->expires > now) return {};
  return fail(ExitCode::kUsage, "the SAS in " + variable + " expired at " +
                                    format_iso_time(*times->expires) + " (now " +
                                    format_iso_time(now) + "): make a new one");
}

Status check_signatures(const JobRequest& request, const Credentials& credentials) {
  const std::time_t now = std::time(nullptr);
  for (const auto& [name, value] : credentials) {
    Status status;
    if (name == "AZURE_STORAGE_SAS_TOKEN") status = check_expiry(value, now, name);
    if (name == "AZURE_STORAGE_CONNECTION_STRING") {
      const auto parts = parse_connection_string(value);
      const bool used =
          parts && parts->key.empty() &&
          std::any_of(request.models.begin(), request.models.end(), [&](const ModelRequest& model) {
            return azure_account(model.url) == parts->account;
          });
      if (used) status = check_expiry(parts->sas, now, name);
    }
    if (!status) return status;
  }
  return {};
}

// Of all variables whose name contains `part`.
void unset_matching(std::string_view part) {
  std::vector<std::string> names;
  for (char** item = environ; item != nullptr && *item != nullptr; ++item) {
    const std::string_view text(*item);
    const std::string_view name = text.substr(0, text.find('='));
    if (name.find(part) != std::string_view::npos) names.emplace_back(name);
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

}  // namespace

void forget_parent_job(Slurm& slurm) {
  if (std::getenv("SLURM_JOB_ID") == nullptr) return;
  // salloc's own shell, which no node's plugin has told better.
  if (environment(kDirectoryVariable) == kNoDirectory) unset_matching(kDirectoryVariable);
  unset_matching("_SPANK_OPTION_stage_model_");
  if (slurm.context() != Context::kAllocator) return;
  unset_matching(std::string(kStepPrefix) + kRequestVariable);
  unset_matching(std::string(kStepPrefix) + kCredentialsVariable);
}

const char* flag_name(Flag flag) {
  switch (flag) {
    case Flag::kModel:
      return "--stage-model";
    case Flag::kDest:
      return "--stage-dest";
    case Flag::kInclude:
      return "--stage-include";
    case Flag::kExclude:
      return "--stage-exclude";
  }
  return "--stage-model";
}

Result<const Site*> Submit::site() {
  if (!site_) {
    auto site = site_at_submit(arguments_);
    if (!site) {
      return fail(site.error().code,
                  "the site's configuration is broken, tell the admin: " + site.error().message);
    }
    site_ = std::move(*site);
  }
  return &*site_;
}

Status Submit::flag(Slurm& slurm, Flag flag, const char* value) {
  const std::string name = flag_name(flag);
  if (inside_allocation(slurm)) {
    return fail(ExitCode::kUsage,
                name +
                    ": a step cannot stage, its nodes are already allocated: give the flag to "
                    "sbatch or salloc (or to an srun outside of a job)");
  }
  if (value == nullptr || *value == '\0') {
    return fail(ExitCode::kUsage, name + ": needs a value");
  }
  const auto site = this->site();
  if (!site) return fail(site.error().code, name + ": " + site.error().message);
  switch (flag) {
    case Flag::kModel:
      return prefixed(name, add_model(request_, value, **site));
    case Flag::kDest:
      return prefixed(name, set_dest(request_, value, **site));  // the last one counts, as in Slurm
    case Flag::kInclude:
      return prefixed(name, add_filter(request_.include, value));
    case Flag::kExclude:
      return prefixed(name, add_filter(request_.exclude, value));
  }
  return {};
}

Status Submit::finish(Slurm& slurm) {
  if (inside_allocation(slurm)) return {};
  const std::string models = environment(kModelDefault);
  if (request_.models.empty() && !models.empty()) {  // a flag replaces the default, as in Slurm
    const auto site = this->site();
    if (!site) return prefixed(kModelDefault, tl::unexpected<Error>(site.error()));
    std::istringstream words(models);
    for (std::string word; words >> word;) {
      if (const Status status = add_model(request_, word, **site); !status) {
        return prefixed(std::string("$") + kModelDefault, status);
      }
    }
  }
  if (request_.models.empty()) {
    const bool alone =
        !request_.dest.empty() || !request_.include.empty() || !request_.exclude.empty();
    if (!alone) {
      forget_component(slurm);
      return {};
    }
    return fail(ExitCode::kUsage,
                std::string(!request_.dest.empty()      ? flag_name(Flag::kDest)
                            : !request_.include.empty() ? flag_name(Flag::kInclude)
                                                        : flag_name(Flag::kExclude)) +
                    ": says nothing without --stage-model");
  }
  const auto site = this->site();
  if (!site) return tl::unexpected<Error>(site.error());
  if (const std::string dest = environment(kDestDefault); request_.dest.empty() && !dest.empty()) {
    if (const Status status = set_dest(request_, dest, **site); !status) {
      return prefixed(std::string("$") + kDestDefault, status);
    }
  }
  if (Status status = check_prolog_settings(slurm, **site); !status) return status;

  const auto credentials = gather_credentials(
      credential_names(request_, (*site)->config.credentials),
      [](const std::string& name) -> const char* { return std::getenv(name.c_str()); });
  if (!credentials) return tl::unexpected<Error>(credentials.error());
  if (Status status = check_signatures(request_, *credentials); !status) return status;
  const auto packed = pack_credentials(*credentials);
  if (!packed) return tl::unexpected<Error>(packed.error());
  return hand_over(slurm, *packed, (*site)->config.munge_socket);
}

Status Submit::hand_over(Slurm& slurm, const std::string& credentials, const std::string& socket) {
  asked_before_ = true;
  forget_component(slurm);
  bool taken = slurm.control_setenv(kRequestVariable, encode_request(request_));
  if (!credentials.empty()) {
    taken = taken && slurm.control_setenv(kCredentialsVariable, seal(credentials, socket));
  }
  if (!taken) return fail(ExitCode::kUsage, "Slurm did not take the request along");
  ::setenv(kDirectoryVariable, kNoDirectory, 1);
  for (const ModelRequest& model : request_.models) {
    if (model.name.empty()) continue;
    ::setenv((std::string(kDirectoryVariable) + "_" + model.name).c_str(), kNoDirectory, 1);
  }
  request_ = {};  // the next component of a heterogeneous job asks for its own
  return {};
}

// Slurm keeps control variables, and the options themselves, from one component to the next: from
// the environment it would read them as if they had been typed again.
void Submit::forget_component(Slurm& slurm) {
  if (!asked_before_) return;
  slurm.control_unsetenv(kRequestVariable);
  slurm.control_unsetenv(kCredentialsVariable);
  for (const char* option : {"stage_model", "stage_dest", "stage_include", "stage_exclude"}) {
    slurm.control_unsetenv(std::string("_SLURM_SPANK_OPTION_stage_model_") + option);
  }
}

}  // namespace stage_model::spank
