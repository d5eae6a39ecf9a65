// stage-hook as a site's own prolog script runs it, against the plugin's prolog: the same job must
// be staged in the same way to the same place, whoever does it. Needs a mount namespace for its own
// /run.
#include <gmock/gmock.h>

#include <cstdlib>

#include "fake_slurm.h"
#include "spank/hooks.h"
#include "spank/seal.h"
#include "stage_model/launch_order.h"
#include "stage_model/request.h"

namespace stage_model::spank {
namespace {

using ::testing::ElementsAre;

class HookTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    if (std::system("unshare --mount --map-root-user mount -t tmpfs none /run 2>/dev/null") != 0) {
      GTEST_SKIP() << "no mount namespaces here";
    }
    set_job_environment();
    std::ofstream(base + "/slurm.conf") << "ClusterName=test\nSlurmctldHost=localhost\n"
                                           "NodeName=n[1-2]\nPartitionName=main Nodes=ALL\n";
    setenv("SLURM_CONF", (base + "/slurm.conf").c_str(), 1);
    std::ofstream(base + "/launcher")
        << "#!/bin/bash\nrecord=${4%/*}/record\ncp \"$4\" " << base << "/order.seen\n"
        << "cp \"$record\" " << base << "/record.seen\nenv >" << base << "/environment.seen\n"
        << "sed -i 's/\"pending\"/\"staged\"/' \"$record\"\n";
    chmod((base + "/launcher").c_str(), 0755);
  }
  void TearDown() override {
    unsetenv("SLURM_CONF");
    NodeTest::TearDown();
  }
  int hook(const std::string& name) const {
    return std::system(("unshare --mount --map-root-user sh -c 'mount -t tmpfs none /run && "
                        "exec " STAGE_HOOK " " +
                        name + " config=" + arguments.config_path + "' 2>" + base + "/said")
                           .c_str());
  }
  struct Seen {
    std::string order, record, environment;
  };
  Seen seen() {
    Seen seen{slurp(base + "/order.seen"), slurp(base + "/record.seen"),
              slurp(base + "/environment.seen")};
    for (const char* name : {"order", "record", "environment"}) {
      std::filesystem::remove(base + "/" + name + ".seen");
    }
    return seen;
  }
};

TEST_F(HookTest, DoesWhatThePluginDoes) {
  setenv("SPANK_STAGE_MODEL_CREDENTIALS",
         seal("AZCOPY_TENANT_ID=t\nAZURE_STORAGE_KEY=hunter2\nAWS_PROFILE=p", base + "/no").c_str(),
         1);
  for (const std::string& request :
       {std::string("2;m=,az://acct/cont/llama%2D3/;i=*.json;x=-a"),
        std::string("2;m=,az://acct/cont/m;m=L,az://acct/cont/l"),
        "2;m=,https://acct.blob.core.windows.net/c/m;d=" + root + "/alice/mine"}) {
    setenv("SPANK_STAGE_MODEL_REQUEST", request.c_str(), 1);
    run_prolog(slurm, arguments);
    const Seen plugin = seen();
    ASSERT_TRUE(remove_record(state, "7"));
    ASSERT_EQ(hook("prolog"), 0);
    const Seen script = seen();
    ASSERT_NE(plugin.order, "") << request;
    EXPECT_EQ(script.order, plugin.order) << slurp(base + "/said");
    EXPECT_EQ(script.record, plugin.record);
    const auto order = parse_order(script.order);
    ASSERT_TRUE(order) << order.error().message;
    EXPECT_THAT(order->credentials, ElementsAre("AZCOPY_TENANT_ID=t", "AZURE_STORAGE_KEY=hunter2"));
    // The launcher starts with what it needs, not with what the script was given.
    EXPECT_EQ(script.environment.find("SPANK_"), std::string::npos) << script.environment;
    const auto record = read_record(state, "7");
    ASSERT_TRUE(record && record->found);
    EXPECT_EQ(record->record.state, RecordState::kStaged);
  }
}

TEST_F(HookTest, EpilogHonoursTheSitesPolicy) {
  setenv("SPANK_STAGE_MODEL_REQUEST", "2;m=,az://acct/cont/m", 1);
  ASSERT_EQ(hook("prolog"), 0);
  const auto record = read_record(state, "7");
  ASSERT_TRUE(record && record->found) << slurp(base + "/said");
  const std::string directory = record->record.models.at(0).directory;
  std::filesystem::create_directories(directory);
  configure("policy.keep = \"job\"\n");
  ASSERT_EQ(hook("epilog"), 0);
  EXPECT_FALSE(std::filesystem::exists(directory));
  EXPECT_FALSE(std::filesystem::exists(state + "/7"));
}

TEST_F(HookTest, NeverFails) {
  EXPECT_EQ(hook("prolog"), 0);  // a job that asked for nothing
  EXPECT_FALSE(std::filesystem::exists(state));
  EXPECT_EQ(hook("nonsense"), 0);
  setenv("SPANK_STAGE_MODEL_REQUEST", "nonsense", 1);
  EXPECT_EQ(hook("prolog"), 0);
  configure("nonsense");
  EXPECT_EQ(hook("prolog"), 0);
  EXPECT_EQ(hook("epilog"), 0);
}

}  // namespace
}  // namespace stage_model::spank
