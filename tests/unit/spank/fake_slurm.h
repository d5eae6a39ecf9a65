// A Slurm that does what a test tells it and remembers what it was told.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "spank/site.h"
#include "spank/slurm_seam.h"
#include "stage_model/record.h"

namespace stage_model::spank {

class FakeSlurm : public Slurm {
 public:
  Context where = Context::kAllocator;
  std::map<std::string, std::string> control;
  bool takes_control = true;
  std::optional<PrologSettings> settings = PrologSettings{true, true, false, 1830};
  int settings_questions = 0;
  std::optional<std::uint32_t> id = 7;
  std::optional<uid_t> uid = ::geteuid();
  std::optional<int> task = 0;
  bool batch_script = false;
  std::map<std::string, std::string> environment;
  std::optional<double> timeout;
  JobLife life = JobLife::kRuns;
  std::vector<std::string> notes, drained, errors, told;

  Context context() override { return where; }
  bool control_setenv(const std::string& name, const std::string& value) override {
    control[name] = value;
    return takes_control;
  }
  void control_unsetenv(const std::string& name) override { control.erase(name); }
  std::optional<PrologSettings> prolog_settings() override {
    ++settings_questions;
    return settings;
  }
  std::optional<std::uint32_t> job_id() override { return id; }
  std::optional<uid_t> job_uid() override { return uid; }
  std::optional<int> local_task() override { return task; }
  bool is_batch_script() override { return batch_script; }
  std::vector<std::string> job_environment() override {
    std::vector<std::string> out;
    for (const auto& [name, value] : environment) {
      out.push_back(std::string(name).append("=").append(value));
    }
    return out;
  }
  void job_setenv(const std::string& name, const std::string& value) override {
    environment[name] = value;
  }
  void job_unsetenv(const std::string& name) override { environment.erase(name); }
  std::vector<std::string> expand_nodes(const std::string& list) override {
    std::vector<std::string> names;
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');) names.push_back(word);
    return names;
  }
  std::optional<double> prolog_timeout() override { return timeout; }
  std::optional<double> epilog_timeout() override { return timeout; }
  JobLife job_life(std::uint32_t) override { return life; }
  void notify_job(std::uint32_t, const std::string& message) override { notes.push_back(message); }
  void drain_node(const std::string& node, const std::string& why) override {
    drained.push_back(node + " " + why);
  }
  void error(const std::string& message) override { errors.push_back(message); }
  void tell_user(const std::string& message) override { told.push_back(message); }
};

// A node: a directory with a configuration, a root and a state directory; an environment without
// anything of Slurm's or of ours. Everything is gone afterwards.
class NodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(base_), nullptr);
    base = base_;
    root = base + "/models";
    state = base + "/state";
    std::filesystem::create_directory(root);
    arguments.config_path = base + "/stage_model.toml";
    arguments.jobs_dir = base + "/jobs";
    configure("");
    for (const char* name :
         {"SLURM_JOB_ID", "SLURM_JOB_UID", "SLURM_JOB_GID", "SLURM_JOB_USER", "SLURM_NODELIST",
          "SLURM_JOB_NODELIST", "SLURMD_NODENAME", "STAGE_MODEL", "STAGE_DEST",
          "SPANK_STAGE_MODEL_REQUEST", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN",
          "AZURE_STORAGE_ACCOUNT", "SPANK_STAGE_MODEL_CREDENTIALS", "STAGE_MODEL_DIR"}) {
      unsetenv(name);
    }
  }
  void TearDown() override { std::filesystem::remove_all(base); }

  void configure(const std::string& more) {
    std::ofstream(arguments.config_path, std::ios::trunc)
        << "paths.roots = [\"" << root << "\"]\npaths.state_dir = \"" << state
        << "\"\npaths.launcher = \"" << base << "/launcher\"\nlimits.kill_wait_s = 0.2\n"
        << more;
    chmod(arguments.config_path.c_str(), 0644);
  }

  // What slurmd's environment says of job 7 on node n2 of n1,n2.
  void set_job_environment(const char* node = "n2") {
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURM_JOB_UID", std::to_string(::geteuid()).c_str(), 1);
    setenv("SLURM_JOB_GID", std::to_string(::getegid()).c_str(), 1);
    setenv("SLURM_JOB_USER", "alice", 1);
    setenv("SLURM_JOB_NODELIST", "n1,n2", 1);
    setenv("SLURMD_NODENAME", node, 1);
  }

  static std::string slurp(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  char base_[32] = "/tmp/spank_test.XXXXXX";
  std::string base, root, state;
  PluginArguments arguments;
  FakeSlurm slurm;
};

}  // namespace stage_model::spank
