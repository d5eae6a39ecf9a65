// The C side: Slurm's hooks, each handed to the file of its context. Nothing is decided here but
// what a hook may return, and nothing may be thrown out of here.
extern "C" {
#include <slurm/slurm.h>
#include <slurm/spank.h>

// Without these declarations SPANK_PLUGIN's constants would have internal linkage in C++.
extern const char plugin_name[];
extern const char plugin_type[];
extern const unsigned int plugin_version;
extern const unsigned int spank_plugin_version;

SPANK_PLUGIN(stage_model, 1)
}

#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "spank/hooks.h"
#include "spank/site.h"
#include "spank/slurm_calls.h"
#include "spank/step.h"
#include "spank/submit.h"

namespace {

using namespace stage_model::spank;  // the dispatch speaks of nothing else

// Slurm gives no handle and no arguments to an option's callback. Leaked on purpose: the process
// may run other plugins' code after ours is unloaded.
PluginArguments* g_arguments = nullptr;
Submit* g_submit = nullptr;
Step* g_step = nullptr;

// What every hook returns unless it says so itself: an error would drain a node or worse.
constexpr int kFine = 0;

template <class Body>
int guarded(Body body, int on_exception = kFine) {
  try {
    return body();
  } catch (const std::exception& error) {
    slurm_error("stage-model: internal error: %s", error.what());
  } catch (...) {
    slurm_error("stage-model: internal error");
  }
  return on_exception;
}

// Ends sbatch, salloc or srun. An error returned to Slurm would not do: from an option's callback
// it makes Slurm print the value, signature and all; from init_post_opt it is ignored under
// `optional`, and a job would be submitted without its model.
[[noreturn]] void refuse(Slurm& slurm, const stage_model::Error& error) {
  slurm.error(error.message);
  std::exit(1);
}

int on_option(int value, const char* text, int remote) {
  return guarded(
      [&] {
        const auto slurm = slurm_calls(nullptr);
        if (remote != 0 || slurm->context() == Context::kRemote) {
          if (g_step != nullptr && value == static_cast<int>(Flag::kModel)) g_step->flag_seen();
          return kFine;
        }
        if (g_submit == nullptr) return kFine;
        const auto status = g_submit->flag(*slurm, static_cast<Flag>(value), text);
        if (status) return kFine;
        refuse(*slurm, status.error());
      },
      remote != 0 ? kFine : -1);
}

char kModelName[] = "stage-model";
char kModelArgument[] = "[NAME=]URL";
char kModelUsage[] =
    "have the model at URL on every node's own disk before the job starts; may be repeated. "
    "$STAGE_MODEL_DIR names the place, $STAGE_MODEL_DIR_NAME each one's";
char kDestName[] = "stage-dest";
char kDestArgument[] = "PATH";
char kDestUsage[] = "where the model goes (several: the directory above them)";
char kIncludeName[] = "stage-include";
char kExcludeName[] = "stage-exclude";
char kGlobArgument[] = "GLOB";
char kIncludeUsage[] = "stage only files that match; may be repeated";
char kExcludeUsage[] = "do not stage files that match; may be repeated";

spank_option g_options[] = {
    {kModelName, kModelArgument, kModelUsage, 1, static_cast<int>(Flag::kModel), on_option},
    {kDestName, kDestArgument, kDestUsage, 1, static_cast<int>(Flag::kDest), on_option},
    {kIncludeName, kGlobArgument, kIncludeUsage, 1, static_cast<int>(Flag::kInclude), on_option},
    {kExcludeName, kGlobArgument, kExcludeUsage, 1, static_cast<int>(Flag::kExclude), on_option},
};

int finish_submit(Slurm& slurm) {
  if (g_submit == nullptr) return kFine;
  const auto status = g_submit->finish(slurm);
  if (status) return kFine;
  refuse(slurm, status.error());
}

}  // namespace

extern "C" {

int slurm_spank_init(spank_t handle, int count, char** values) {
  return guarded([&] {
    const auto slurm = slurm_calls(handle);
    g_arguments = new PluginArguments(parse_arguments(count, values));
    const Context context = slurm->context();
    if (context == Context::kDaemon) {
      for (const std::string& word : g_arguments->unknown) {
        slurm->error("plugstack.conf: unknown argument \"" + word +
                     "\"; known: config=PATH, prolog=off");
      }
      return kFine;
    }
    if (context == Context::kLocal || context == Context::kAllocator) {
      forget_parent_job(*slurm);
      g_submit = new Submit(*g_arguments);
    }
    if (context == Context::kRemote) g_step = new Step(*g_arguments);
    for (spank_option& option : g_options) {
      if (spank_option_register(handle, &option) != ESPANK_SUCCESS) {
        slurm->error(std::string("--") + option.name + " could not be registered");
      }
    }
    return kFine;
  });
}

int slurm_spank_init_post_opt(spank_t handle, int, char**) {
  const bool submitting = g_submit != nullptr;
  return guarded(
      [&] {
        const auto slurm = slurm_calls(handle);
        if (g_step != nullptr) g_step->load(*slurm);
        return finish_submit(*slurm);
      },
      submitting ? -1 : kFine);
}

int slurm_spank_task_init(spank_t handle, int, char**) {
  const int code =
      guarded([&] { return g_step != nullptr ? g_step->verdict(*slurm_calls(handle)) : kFine; });
  // Returning an error would be ignored under `optional`; this ends the task whatever the admin
  // wrote there, without a word from Slurm and without draining the node.
  if (code != 0) ::_exit(code);
  return kFine;
}

int slurm_spank_job_prolog(spank_t handle, int count, char** values) {
  return guarded([&] {
    const PluginArguments arguments = parse_arguments(count, values);
    if (arguments.prolog) run_prolog(*slurm_calls(handle), arguments);
    return kFine;
  });
}

int slurm_spank_job_epilog(spank_t handle, int count, char** values) {
  return guarded([&] {
    if (!job_asked()) return kFine;
    const PluginArguments arguments = parse_arguments(count, values);
    if (arguments.prolog) run_epilog(*slurm_calls(handle), arguments);
    return kFine;
  });
}

}  // extern "C"
