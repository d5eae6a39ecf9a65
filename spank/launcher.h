// stage-launch as the prolog runs it: found, started, waited for, ended.
#pragma once

#include <functional>
#include <string>

#include "stage_model/result.h"

namespace stage_model::spank {

// An absolute path as it is; a bare name from where programs of this package are installed. Errors:
// kUsage, also for a file that others than root could have written.
Result<std::string> find_program(const std::string& program);

struct LauncherRun {
  std::string program;
  std::string config_path;
  std::string order_path;
  std::string log_path;
  double term_after_s = 0;  // SIGTERM then (the launcher has a deadline of its own before)
  double kill_wait_s = 0;   // and SIGKILL so much later
  // Called in a process of its own, again and again: true once the job is over and staging is in
  // vain. Empty: nobody watches.
  std::function<bool()> job_is_over;
};

// Why it ended, where that was not its own doing.
enum class LauncherStop { kNone, kJobOver, kDeadline, kHookStopped };

// For a record that the launcher did not bring to an end itself.
struct LauncherEnd {
  std::string text;  // how the process ended
  LauncherStop stop = LauncherStop::kNone;
};

// Blocks until the launcher is gone. SIGTERM, SIGINT and SIGHUP to this process go to it.
Result<LauncherEnd> run_launcher(const LauncherRun& run);

}  // namespace stage_model::spank
