#include "engine/launch/engine_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stage_model::launch {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class EngineEnvironment : public testing::Test {
 protected:
  EngineEnvironment() {
    identity_.name = "alice";
    inputs_.config = &config_;
    inputs_.identity = &identity_;
    inputs_.session = "/run/s";
    inputs_.node = "n2";
    inputs_.nodes = 4;
    inputs_.address = "10.0.0.2";
    inputs_.pmix = {"PMIX_RANK=1", "PMIX_NAMESPACE=x"};
  }
  Config config_;
  Identity identity_;
  EnvironmentInputs inputs_;
};

TEST_F(EngineEnvironment, IsBuiltFromNothing) {
  setenv("SLURM_JOB_ID", "7", 1);
  const auto variables = engine_environment(inputs_);
  unsetenv("SLURM_JOB_ID");
  EXPECT_THAT(variables, Each(Not(HasSubstr("SLURM_JOB_ID"))));
  for (const char* expected :
       {"HOME=/run/s", "TMPDIR=/run/s", "USER=alice", "PMIX_RANK=1", "PMIX_MCA_gds=hash",
        "OMPI_MCA_schizo=^orte,slurm", "STAGE_MODEL_NODE=n2", "STAGE_MODEL_NODES=4",
        "STAGE_MODEL_ADDRESS=10.0.0.2", "OMPI_MCA_btl_tcp_port_min_v4=24900",
        "OMPI_MCA_btl_tcp_port_range_v4=1024"}) {
    EXPECT_THAT(variables, Contains(expected));
  }
}

TEST_F(EngineEnvironment, ConfigurationDecidesButNotWhatMustBeSo) {
  config_.environment = {{"UCX_TLS", "rc"},
                         {"OMPI_MCA_schizo", "orte"},
                         {"PATH", "/opt/bin"},
                         {"OMPI_MCA_btl_tcp_port_min_v4", "1"}};
  inputs_.inherited = {"UCX_TLS=tcp", "UCX_NET_DEVICES=a"};
  const auto variables = engine_environment(inputs_);
  for (const char* expected : {"UCX_TLS=rc", "UCX_NET_DEVICES=a", "OMPI_MCA_schizo=^orte,slurm",
                               "PATH=/opt/bin", "OMPI_MCA_btl_tcp_port_min_v4=1"}) {
    EXPECT_THAT(variables, Contains(expected));
  }
}

TEST_F(EngineEnvironment, InterfacesAreTheSitesOrLeftToTheEngine) {
  EXPECT_THAT(engine_environment(inputs_), Each(Not(StartsWith("OMPI_MCA_btl_tcp_if_"))));
  config_.interfaces = "ib0,ib1";
  EXPECT_THAT(engine_environment(inputs_), Contains("OMPI_MCA_btl_tcp_if_include=ib0,ib1"));
  config_.environment = {{"OMPI_MCA_btl_tcp_if_exclude", "docker0"}};
  EXPECT_THAT(engine_environment(inputs_), Each(Not(StartsWith("OMPI_MCA_btl_tcp_if_include"))));
}

TEST_F(EngineEnvironment, AHomeThatIsThere) {
  identity_.home = "/home/alice";
  EXPECT_THAT(engine_environment(inputs_), Contains("HOME=/home/alice"));
}

TEST(Inheritable, NoSecretsAndNothingOfSlurm) {
  const char* const environment[] = {"UCX_TLS=tcp",
                                     "OMPI_MCA_pml=ob1",
                                     "AZURE_STORAGE_KEY=k",
                                     "SLURM_JOB_ID=1",
                                     "LD_PRELOAD=x",
                                     "https_proxy=p",
                                     "UCX",
                                     "OMPI_COMM_WORLD_RANK=3",
                                     "PMIX_RANK=2",
                                     nullptr};
  EXPECT_THAT(inheritable(environment),
              testing::ElementsAre("UCX_TLS=tcp", "OMPI_MCA_pml=ob1", "https_proxy=p"));
}

}  // namespace
}  // namespace stage_model::launch
