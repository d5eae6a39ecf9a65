#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <map>
#include <sstream>

#include "engine/launch/check.h"

namespace stage_model::launch {
namespace {

using Grade = Finding::Grade;

// "PrologFlags             = Alloc,DeferBatch" lines; the first of a name counts.
std::map<std::string, std::string> settings_of(const std::string& text) {
  std::map<std::string, std::string> settings;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    std::string name = line.substr(0, equals);
    std::string value = line.substr(equals + 1);
    const auto trim = [](std::string* s) {
      while (!s->empty() && std::isspace(static_cast<unsigned char>(s->back())) != 0) s->pop_back();
      std::size_t start = 0;
      while (start < s->size() && std::isspace(static_cast<unsigned char>((*s)[start])) != 0)
        ++start;
      s->erase(0, start);
    };
    trim(&name);
    trim(&value);
    settings.emplace(name, value);
  }
  return settings;
}

bool has_flag(const std::string& flags, const std::string& wanted) {
  std::istringstream list(flags);
  std::string flag;
  while (std::getline(list, flag, ',')) {
    if (flag == wanted) return true;
  }
  return false;
}

// Seconds of "300 sec"; 0 if there is none (NO_VAL, "65534 sec" of an unset timer, absent).
double seconds_of(const std::map<std::string, std::string>& settings, const std::string& name) {
  constexpr double kUnset = 65533;  // Slurm's NO_VAL16 and INFINITE16 come out as numbers
  const auto found = settings.find(name);
  if (found == settings.end()) return 0;
  const double seconds = std::strtod(found->second.c_str(), nullptr);
  return seconds >= kUnset ? 0 : seconds;
}

void check_flags(const std::string& flags, std::vector<Finding>* findings) {
  const std::string what = "PrologFlags";
  if (!has_flag(flags, "Alloc")) {
    findings->push_back(
        {Grade::kFail, what,
         fmt::format("{}: without Alloc the prolog runs only at the first step; set "
                     "PrologFlags=Alloc,DeferBatch in slurm.conf",
                     flags)});
  } else if (!has_flag(flags, "DeferBatch")) {
    findings->push_back({Grade::kFail, what,
                         fmt::format("{}: without DeferBatch a batch script starts before other "
                                     "nodes are staged; set PrologFlags=Alloc,DeferBatch in "
                                     "slurm.conf (Slurm 22.05 or later)",
                                     flags)});
  } else {
    findings->push_back({Grade::kOk, what, flags});
  }
  if (has_flag(flags, "Serial")) {
    findings->push_back({Grade::kFail, what,
                         "Serial: two jobs on the same nodes can wait for each other for ever; "
                         "take Serial out"});
  }
  if (has_flag(flags, "NoHold")) {
    findings->push_back({Grade::kWarn, what, "NoHold: salloc does not wait for the staging"});
  }
}

// A timer that ends the prolog must leave the launcher time to say why.
void check_limit(const std::map<std::string, std::string>& settings, const std::string& name,
                 const Config& config, std::vector<Finding>* findings) {
  if (settings.count(name) == 0) return;
  const double limit = seconds_of(settings, name);
  if (limit == 0) {
    findings->push_back({Grade::kOk, name, "no limit"});
  } else if (limit < needed_slurm_limit(config)) {
    findings->push_back(
        {Grade::kFail, name,
         fmt::format("{:g} s, and a staging may take {:g} s: Slurm would kill it and "
                     "drain the node; set {} to {:g} or more, or lower [limits] "
                     "deadline_s in stage_model.toml",
                     limit, config.deadline_s, name, needed_slurm_limit(config))});
  } else {
    findings->push_back({Grade::kOk, name, fmt::format("{:g} s", limit)});
  }
}

// slurmctld requeues a batch job whose node registers after so long and does not run it yet.
void check_batch_start(const std::map<std::string, std::string>& settings, const Config& config,
                       std::vector<Finding>* findings) {
  const std::string name = "BatchStartTimeout";
  if (settings.count(name) == 0) return;
  const double limit = seconds_of(settings, name);
  const double needed = needed_slurm_limit(config);
  if (limit < needed) {
    findings->push_back(
        {Grade::kFail, name,
         fmt::format("{:g} s, and a staging may take {:g} s: a job that waits for one "
                     "would be requeued, so the plugin refuses it at submit; set {} to "
                     "{:g} or more, or lower [limits] deadline_s in stage_model.toml",
                     limit, config.deadline_s, name, needed)});
  } else {
    findings->push_back({Grade::kOk, name, fmt::format("{:g} s", limit)});
  }
}

void check_timer(const std::map<std::string, std::string>& settings, const std::string& name,
                 double wanted, const std::string& why, std::vector<Finding>* findings) {
  const double value = seconds_of(settings, name);
  if (value == 0) return;
  if (value < wanted) {
    findings->push_back(
        {Grade::kWarn, name, fmt::format("{:g} s; {}: {:g} or more is safer", value, why, wanted)});
  } else {
    findings->push_back({Grade::kOk, name, fmt::format("{:g} s", value)});
  }
}

}  // namespace

std::vector<Finding> check_slurm(const std::string& text, const Config& config) {
  std::vector<Finding> findings;
  const auto settings = settings_of(text);
  if (settings.count("PrologFlags") == 0) {
    findings.push_back({Grade::kWarn, "slurm",
                        "scontrol show config says nothing of PrologFlags; "
                        "is slurmctld up?"});
    return findings;
  }
  check_flags(settings.at("PrologFlags"), &findings);
  check_limit(settings, "PrologEpilogTimeout", config, &findings);
  check_limit(settings, "PrologTimeout", config, &findings);
  check_batch_start(settings, config, &findings);
  constexpr double kWanted = 30;
  check_timer(settings, "MessageTimeout", kWanted, "nodes with long prologs answer late",
              &findings);
  return findings;
}

}  // namespace stage_model::launch
