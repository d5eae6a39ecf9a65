#include "stage_model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

namespace stage_model {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error_of(const std::string& text) {
  const auto config = parse_config(text, "f.toml");
  return config ? "no error" : config.error().message;
}

TEST(Config, EmptyTextIsTheDefaults) {
  const auto config = parse_config("", "f.toml");
  ASSERT_TRUE(config);
  EXPECT_THAT(config->roots, ElementsAre("/var/lib/stage-model"));
  EXPECT_EQ(config->keep, Keep::kAlways);
  EXPECT_EQ(config->launcher_ports.first, 24600);
}

TEST(Config, EveryKey) {
  const auto config = parse_config(R"(
[paths]
roots = ["/nvme", "/scratch/models"]
state_dir = "/run/sm"
launcher = "/opt/bin/stage-launch"
engine = "stage-engine"
[limits]
deadline_s = "1h"
rendezvous_timeout_s = 10
heartbeat_timeout_s = 2.5
engine_start_timeout_s = 11
stall_timeout_s = 12
kill_wait_s = 0.5
max_models = 3
max_nodes = 100
[ports]
launcher_ports = "1000-1001"
mpi_ports = [2000, 2100]
[network]
interfaces = "eth0,10.0.0.0/8"
[network.addresses]
n1 = "10.0.0.1"
[source]
schemes = ["az", "file"]
credentials = ["MY_TOKEN"]
[engine]
options = ["--verify", "store"]
environment = { UCX_TLS = "rc,self" }
[policy]
keep = "job"
node_fault = "drain"
partial_keep_s = 0
[auth]
key_file = "/etc/stage.key"
munge_socket = "/run/munge/s"
)",
                                   "f.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_THAT(config->roots, ElementsAre("/nvme", "/scratch/models"));
  EXPECT_EQ(config->state_dir, "/run/sm");
  EXPECT_EQ(config->launcher, "/opt/bin/stage-launch");
  EXPECT_EQ(config->engine, "stage-engine");
  EXPECT_DOUBLE_EQ(config->deadline_s, 3600);
  EXPECT_DOUBLE_EQ(config->rendezvous_timeout_s, 10);
  EXPECT_DOUBLE_EQ(config->heartbeat_timeout_s, 2.5);
  EXPECT_DOUBLE_EQ(config->engine_start_timeout_s, 11);
  EXPECT_DOUBLE_EQ(config->stall_timeout_s, 12);
  EXPECT_DOUBLE_EQ(config->kill_wait_s, 0.5);
  EXPECT_EQ(config->max_models, 3u);
  EXPECT_EQ(config->max_nodes, 100u);
  EXPECT_EQ(config->launcher_ports.last, 1001);
  EXPECT_EQ(config->mpi_ports.first, 2000);
  EXPECT_EQ(config->interfaces, "eth0,10.0.0.0/8");
  EXPECT_EQ(config->addresses.at("n1"), "10.0.0.1");
  EXPECT_THAT(config->schemes, ElementsAre("az", "file"));
  EXPECT_THAT(config->credentials, ElementsAre("MY_TOKEN"));
  EXPECT_THAT(config->options, ElementsAre("--verify", "store"));
  EXPECT_EQ(config->environment.at("UCX_TLS"), "rc,self");
  EXPECT_EQ(config->keep, Keep::kJob);
  EXPECT_EQ(config->node_fault, NodeFault::kDrain);
  EXPECT_DOUBLE_EQ(config->partial_keep_s, 0);
  EXPECT_EQ(config->key_file, "/etc/stage.key");
  EXPECT_EQ(config->munge_socket, "/run/munge/s");
}

TEST(Config, ErrorsNameFileLineAndKey) {
  EXPECT_THAT(error_of("[paths]\nrootz = []\n"),
              AllOf(StartsWith("f.toml:2: paths.rootz: unknown key"), HasSubstr("roots")));
  EXPECT_THAT(error_of("[pathz]\n"), StartsWith("f.toml:1: pathz: unknown key"));
  EXPECT_THAT(error_of("\n\n[limits]\nmax_models = \"8\"\n"),
              StartsWith("f.toml:4: limits.max_models: must be a whole number"));
  EXPECT_THAT(error_of("[limits]\nmax_models = 0\n"),
              StartsWith("f.toml:2: limits.max_models: must be from 1 to 64"));
  EXPECT_THAT(error_of("[limits]\ndeadline_s = nan\n"),
              StartsWith("f.toml:2: limits.deadline_s: must be from 1 to 604800 seconds"));
  EXPECT_THAT(error_of("[paths]\nroots = [1]\n"), StartsWith("f.toml:2: paths.roots: must be"));
  EXPECT_THAT(error_of("[paths]\nroots = []\n"), StartsWith("f.toml:2: paths.roots: "));
  EXPECT_THAT(error_of("[paths]\nroots = [\"/a/../b\"]\n"), HasSubstr("\"/a/../b\""));
  EXPECT_THAT(error_of("[paths]\nstate_dir = \"/a\\u0000b\"\n"), HasSubstr("NUL"));
  EXPECT_THAT(error_of("[ports]\nmpi_ports = \"9-1\"\n"), StartsWith("f.toml:2: ports.mpi_ports"));
  EXPECT_THAT(error_of("[ports]\nmpi_ports = \"1-70000\"\n"), HasSubstr("ports.mpi_ports"));
  EXPECT_THAT(error_of("[policy]\nkeep = \"maybe\"\n"), HasSubstr("\"maybe\" is neither"));
  EXPECT_THAT(error_of("[source]\nschemes = [\"AZ:\"]\n"), HasSubstr("source.schemes"));
  EXPECT_THAT(error_of("[engine]\nenvironment = { \"A=B\" = \"\" }\n"), HasSubstr("\"A=B\""));
  EXPECT_THAT(error_of("[paths\n"), StartsWith("f.toml:1: "));
  EXPECT_THAT(error_of("\n[.paths]\n"), StartsWith("f.toml:2: "));
  EXPECT_THAT(error_of("[[[paths]]]\n"), StartsWith("f.toml:1: "));
  EXPECT_THAT(error_of("[paths] é\n"), StartsWith("f.toml:1: "));
  EXPECT_THAT(error_of("paths = 3\n"), StartsWith("f.toml:1: paths: must be a table"));
}

TEST(Config, CharactersBeyondAsciiStandInQuotesAndCommentsOnly) {
  for (const char* text : {
           "# é\nstate_dir = \"/é\" # é's \"\n",
           "state_dir = '/é\\' # a backslash is none in single quotes\n",
           "state_dir = \"/\\\"é\"\n",
           "state_dir = \"\"\"/é\"\"\"\n",
           "state_dir = \"\"\"/é\\\n  x\\ty\"\"\" # é\n",
           "state_dir = \"\"\"\n/\"é\"\"\"\"\" # é\n",
           "state_dir = '''\n/'\"é''' # é\n",
       }) {
    const std::string error = error_of(std::string("[paths]\n") + text);
    EXPECT_EQ(error.find("beyond ASCII"), std::string::npos) << text << error;
  }
  const std::string why = ": characters beyond ASCII";
  EXPECT_THAT(error_of("\n\n[paths]é\n"), StartsWith("f.toml:3" + why));
  EXPECT_THAT(error_of("[paths] # é\n\u00a0roots = []\n"), StartsWith("f.toml:2" + why));
  EXPECT_THAT(error_of("[paths]\né = 3\n"), StartsWith("f.toml:2" + why));
  EXPECT_THAT(error_of("[paths]\nroots = ['/é']é\n"), StartsWith("f.toml:2" + why));
  EXPECT_THAT(error_of("[paths]\nstate_dir = \"\"\"/a\\\n é\"\"\"\n"),
              StartsWith("f.toml:3" + why));
  EXPECT_THAT(error_of("[paths]\nstate_dir = \"\"\"/a\\é\"\"\"\n"), StartsWith("f.toml:2" + why));
  EXPECT_THAT(error_of("[paths]\nstate_dir = \"/é\nroots = é\n"), StartsWith("f.toml:3" + why));
  EXPECT_THAT(error_of("[paths]\nstate_dir = '''\n'''''é\n"), StartsWith("f.toml:3" + why));
}

TEST(Config, FileMustBeTrusted) {
  char directory[] = "/tmp/config_test.XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string path = std::string(directory) + "/stage_model.toml";
  EXPECT_THAT(load_config(path).error().message, HasSubstr(path + ": no such file"));
  std::ofstream(path) << "[limits]\nmax_models = 2\n";
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(load_config(path)->max_models, 2u);
  ASSERT_EQ(chmod(path.c_str(), 0664), 0);
  EXPECT_THAT(load_config(path).error().message, HasSubstr("writable by group or others"));
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0644), 0);
  EXPECT_THAT(load_config(path).error().message, HasSubstr("not a regular file"));
  unlink(path.c_str());
  rmdir(directory);
}

bool same_values(const Config& a, const Config& b) {
  const auto all = [](const Config& c) {
    return std::make_tuple(c.roots, c.state_dir, c.launcher, c.engine, c.deadline_s,
                           c.rendezvous_timeout_s, c.heartbeat_timeout_s, c.engine_start_timeout_s,
                           c.stall_timeout_s, c.kill_wait_s, c.max_models, c.max_nodes,
                           c.launcher_ports.first, c.launcher_ports.last, c.mpi_ports.first,
                           c.mpi_ports.last, c.interfaces, c.schemes, c.credentials, c.options,
                           c.keep, c.node_fault, c.partial_keep_s, c.key_file, c.munge_socket);
  };
  return all(a) == all(b);
}

// What the file shows as defaults must be the defaults, and every key must be in it.
TEST(Config, InstalledFileShowsTheDefaults) {
  std::ifstream file(STAGE_ETC "/stage_model.toml");
  std::string as_it_is;
  std::string uncommented;
  std::set<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    as_it_is += line + "\n";
    const bool is_key = line.size() > 1 && line[0] == '#' && line[1] != ' ';
    uncommented += (is_key ? line.substr(1) : line) + "\n";
    if (is_key && line[1] != '[') keys.insert(line.substr(1, line.find(" =") - 1));
  }
  const auto shipped = parse_config(as_it_is, "stage_model.toml");
  ASSERT_TRUE(shipped) << shipped.error().message;
  EXPECT_TRUE(same_values(*shipped, Config{}));
  auto shown = parse_config(uncommented, "stage_model.toml");
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_TRUE(same_values(*shown, Config{}));
  EXPECT_EQ(shown->addresses.size(), 1u);  // the two tables show an example
  EXPECT_EQ(shown->environment.size(), 1u);
  // An unknown key's message lists the known ones: each must be in the file.
  for (const char* section :
       {"paths", "limits", "ports", "network", "source", "engine", "policy", "auth"}) {
    const std::string message = error_of("[" + std::string(section) + "]\nx = 1\n");
    std::string names = message.substr(message.find("known here: ") + 12);
    std::replace(names.begin(), names.end(), ',', ' ');
    std::istringstream words(names);
    for (std::string name; words >> name;) {
      if (name == "addresses" || name == "environment") continue;
      EXPECT_EQ(keys.count(name), 1u) << section << "." << name;
    }
  }
}

TEST(Config, DefaultPathFollowsSlurmConf) {
  setenv("SLURM_CONF", "/opt/slurm/etc/slurm.conf", 1);
  EXPECT_EQ(default_config_path(), "/opt/slurm/etc/stage_model.toml");
  unsetenv("SLURM_CONF");
  EXPECT_EQ(default_config_path(), "/etc/slurm/stage_model.toml");
}

}  // namespace
}  // namespace stage_model
