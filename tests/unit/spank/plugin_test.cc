// spank_stage_model.so itself, loaded into a program that has Slurm's symbols.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

extern "C" {
#include <slurm/slurm.h>
#include <slurm/spank.h>
}

namespace {

struct Fake {
  spank_context_t context = S_CTX_ALLOCATOR;
  std::map<std::string, spank_option> options;
  std::map<std::string, std::string> control;
  std::vector<std::string> lines;
};
Fake fake;

std::string format(const char* text, va_list items) {
  char line[4096];
  vsnprintf(line, sizeof line, text, items);
  return line;
}

}  // namespace

// What the plugin needs of its host.
extern "C" {
spank_context_t spank_context(void) { return fake.context; }
spank_err_t spank_option_register(spank_t, spank_option* option) {
  fake.options[option->name] = *option;
  return static_cast<spank_err_t>(ESPANK_SUCCESS);
}
spank_err_t spank_job_control_setenv(spank_t, const char* name, const char* value, int) {
  fake.control[name] = value;
  return static_cast<spank_err_t>(ESPANK_SUCCESS);
}
spank_err_t spank_job_control_unsetenv(spank_t, const char* name) {
  fake.control.erase(name);
  return static_cast<spank_err_t>(ESPANK_SUCCESS);
}
spank_err_t spank_get_item(spank_t, spank_item_t, ...) {
  return static_cast<spank_err_t>(ESPANK_BAD_ARG);
}
spank_err_t spank_setenv(spank_t, const char*, const char*, int) {
  return static_cast<spank_err_t>(ESPANK_SUCCESS);
}
spank_err_t spank_unsetenv(spank_t, const char*) {
  return static_cast<spank_err_t>(ESPANK_SUCCESS);
}
#define STAGE_LOGGER(name)                     \
  void name(const char* text, ...) {           \
    va_list items;                             \
    va_start(items, text);                     \
    fake.lines.push_back(format(text, items)); \
    va_end(items);                             \
  }
STAGE_LOGGER(slurm_error)
STAGE_LOGGER(slurm_info)
STAGE_LOGGER(slurm_spank_log)
void slurm_init(const char*) {}
int slurm_load_ctl_conf(time_t, slurm_conf_t** conf) {
  static slurm_conf_t answer;
  answer.prolog_flags = PROLOG_FLAG_ALLOC | PROLOG_FLAG_DEFER_BATCH;
  *conf = &answer;
  return SLURM_SUCCESS;
}
void slurm_free_ctl_conf(slurm_conf_t*) {}
int slurm_load_job(job_info_msg_t**, uint32_t, uint16_t) { return SLURM_ERROR; }
void slurm_free_job_info_msg(job_info_msg_t*) {}
int slurm_notify_job(uint32_t, char*) { return SLURM_SUCCESS; }
void slurm_init_update_node_msg(update_node_msg_t*) {}
int slurm_update_node(update_node_msg_t*) { return SLURM_SUCCESS; }
decltype(slurm_hostlist_create("")) slurm_hostlist_create(const char*) { return nullptr; }
char* slurm_hostlist_shift(decltype(slurm_hostlist_create(""))) { return nullptr; }
void slurm_hostlist_destroy(decltype(slurm_hostlist_create(""))) {}
decltype(slurm_strerror(0)) slurm_strerror(int) { return const_cast<char*>("error"); }
}

namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PluginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fake = Fake{};
    unsetenv("SLURM_JOB_ID");
    unsetenv("STAGE_MODEL");
    // RTLD_NOW: a symbol that only some Slurm programs have would show here.
    library_ = dlopen(PLUGIN_PATH, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
  }
  void TearDown() override {
    if (library_ != nullptr) dlclose(library_);
  }
  int hook(const std::string& name) {
    auto* function = reinterpret_cast<spank_f*>(dlsym(library_, ("slurm_spank_" + name).c_str()));
    EXPECT_NE(function, nullptr) << name;
    char config[] = "config=/nonexistent/stage_model.toml";
    char* arguments[] = {config, nullptr};
    return function == nullptr ? -99 : function(nullptr, 1, arguments);
  }
  static int give(const char* option, const char* value, int remote = 0) {
    const spank_option& known = fake.options.at(option);
    return known.cb(known.val, value, remote);
  }
  void* library_ = nullptr;
};

TEST_F(PluginTest, SaysWhatItIs) {
  EXPECT_STREQ(static_cast<const char*>(dlsym(library_, "plugin_name")), "stage_model");
  EXPECT_STREQ(static_cast<const char*>(dlsym(library_, "plugin_type")), "spank");
  EXPECT_NE(dlsym(library_, "plugin_version"), nullptr);
  EXPECT_NE(dlsym(library_, "spank_plugin_version"), nullptr);
}

TEST_F(PluginTest, BringsItsOwnCxxLibrary) {
  FILE* pipe =
      popen("readelf -d " PLUGIN_PATH " | grep NEEDED; nm -D --defined-only " PLUGIN_PATH
            " | awk '{print $3}' | grep -vE '^(plugin_|slurm_spank_|spank_plugin_version)'",
            "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  char buffer[512];
  while (fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
  pclose(pipe);
  EXPECT_THAT(text, HasSubstr("libc.so"));  // readelf did run
  EXPECT_THAT(text, ::testing::Not(HasSubstr("libstdc++")));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("_Z")));
}

TEST_F(PluginTest, SubmitHandsOver) {
  EXPECT_EQ(hook("init"), 0);
  EXPECT_EQ(give("stage-model", "az://acct/cont/m"), 0);
  EXPECT_EQ(give("stage-model", "L=az://acct/cont/l"), 0);
  EXPECT_EQ(hook("init_post_opt"), 0);
  EXPECT_EQ(fake.control["STAGE_MODEL_REQUEST"], "2;m=,az://acct/cont/m;m=L,az://acct/cont/l");
}

// From a callback's error Slurm would make "Invalid --stage-model argument: VALUE", signature and
// all.
TEST_F(PluginTest, BadFlagEndsTheSubmissionAndNamesItself) {
  const auto submit = [this](const char* flag, const char* value) {
    std::atexit([] {
      for (const std::string& line : fake.lines) std::fprintf(stderr, "%s\n", line.c_str());
    });
    hook("init");
    give(flag, value);
  };
  EXPECT_EXIT(submit("stage-model", "nonsense"), ::testing::ExitedWithCode(1),
              "stage-model: --stage-model: \"nonsense\"");
  EXPECT_EXIT(submit("stage-dest", "nonsense"), ::testing::ExitedWithCode(1), "--stage-dest");
  EXPECT_EXIT(submit("stage-model", nullptr), ::testing::ExitedWithCode(1), "needs a value");
}

// Under `optional` Slurm would ignore an error returned by init_post_opt and submit the job.
TEST_F(PluginTest, BadDefaultEndsTheSubmission) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("STAGE_MODEL", "nonsense", 1);
    hook("init");
    hook("init_post_opt");
    _exit(77);  // must not be reached
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST_F(PluginTest, JobWithoutTheFlagIsLeftAlone) {
  unsetenv("SPANK_STAGE_MODEL_REQUEST");
  for (const spank_context_t context : {S_CTX_ALLOCATOR, S_CTX_LOCAL, S_CTX_REMOTE}) {
    fake.context = context;
    EXPECT_EQ(hook("init"), 0);
    EXPECT_EQ(hook("init_post_opt"), 0);
    if (context == S_CTX_REMOTE) {
      EXPECT_EQ(hook("task_init"), 0);
    }
  }
  fake.context = S_CTX_JOB_SCRIPT;
  EXPECT_EQ(hook("job_prolog"), 0);
  EXPECT_EQ(hook("job_epilog"), 0);
  EXPECT_THAT(fake.lines, IsEmpty());
  EXPECT_THAT(fake.control, IsEmpty());
}

TEST_F(PluginTest, PrologNeverFails) {
  fake.context = S_CTX_JOB_SCRIPT;
  setenv("SPANK_STAGE_MODEL_REQUEST", "garbage", 1);
  unsetenv("SLURM_JOB_UID");
  EXPECT_EQ(hook("job_prolog"), 0);
  EXPECT_EQ(hook("job_epilog"), 0);
  EXPECT_THAT(fake.lines, Contains(HasSubstr("stage-model: ")));
  unsetenv("SPANK_STAGE_MODEL_REQUEST");
}

TEST_F(PluginTest, DaemonIsToldOfUnknownArguments) {
  fake.context = S_CTX_SLURMD;
  EXPECT_EQ(hook("init"), 0);
  EXPECT_THAT(fake.lines, IsEmpty());
  auto* init = reinterpret_cast<spank_f*>(dlsym(library_, "slurm_spank_init"));
  char bogus[] = "bogus=1";
  char* arguments[] = {bogus, nullptr};
  EXPECT_EQ(init(nullptr, 1, arguments), 0);
  EXPECT_THAT(fake.lines, Contains(HasSubstr("bogus=1")));
}

}  // namespace
