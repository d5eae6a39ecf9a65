#include "engine/mpi/environment.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <memory>
#include <utility>

#include "engine/mpi/network.h"
#include "tests/unit/mpi/sysfs.h"

namespace stage_model::mpi {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::StrEq;

// The environment is the process's: each case in one of its own.
void in_own_process(const std::function<void()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    clearenv();
    check();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Environment, UcxOnEveryRailOfAnNdH100) {
  const Sysfs sysfs;
  sysfs.nd_h100();
  in_own_process([&] {
    EXPECT_THAT(choose_environment(sysfs.path()), StartsWith("ucx on 8 x 400 Gb/s (mlx5_ib0:1, "));
    EXPECT_THAT(getenv("OMPI_MCA_pml"), StrEq("ucx"));
    EXPECT_THAT(getenv("UCX_NET_DEVICES"),
                StrEq("mlx5_ib0:1,mlx5_ib1:1,mlx5_ib2:1,mlx5_ib3:1,mlx5_ib4:1,mlx5_ib5:1,"
                      "mlx5_ib6:1,mlx5_ib7:1"));
    EXPECT_THAT(getenv("UCX_MAX_RNDV_RAILS"), StrEq("8"));
    EXPECT_THAT(getenv("OMPI_MCA_coll_adapt_bcast_segment_size"), StrEq("524288"));
  });
}

TEST(Environment, WhatTheUserChoseStays) {
  const Sysfs sysfs;
  sysfs.nd_h100();
  in_own_process([&] {
    setenv("UCX_NET_DEVICES", "mlx5_ib0:1", 1);
    EXPECT_THAT(choose_environment(sysfs.path()), StartsWith("ucx on mlx5_ib0:1"));
    EXPECT_THAT(getenv("UCX_NET_DEVICES"), StrEq("mlx5_ib0:1"));
    EXPECT_EQ(getenv("UCX_MAX_RNDV_RAILS"), nullptr);
  });
  in_own_process([&] {
    setenv("UCX_TLS", "tcp,self", 1);
    EXPECT_EQ(choose_environment(sysfs.path()), "ucx");
    EXPECT_EQ(getenv("UCX_NET_DEVICES"), nullptr);
  });
  in_own_process([&] {
    setenv("OMPI_MCA_pml", "ob1", 1);
    EXPECT_THAT(choose_environment(sysfs.path()), StartsWith("ob1/tcp"));
    EXPECT_EQ(getenv("UCX_NET_DEVICES"), nullptr);
  });
  in_own_process([&] {
    setenv("OMPI_MCA_pml", "cm", 1);
    EXPECT_EQ(choose_environment(sysfs.path()), "cm");
  });
}

TEST(Environment, TcpWhereOnlyAVirtualFunctionsEthernetIs) {
  const Sysfs sysfs;
  sysfs.hca("mlx5_an0", "Ethernet", "4: ACTIVE", "100 Gb/sec (4X EDR)", 0, "0");
  in_own_process([&] {
    EXPECT_EQ(choose_environment(sysfs.path()), "ob1/tcp");
    EXPECT_THAT(getenv("OMPI_MCA_btl"), StrEq("tcp,self"));
    EXPECT_THAT(getenv("OMPI_MCA_btl_tcp_if_exclude"), HasSubstr("docker0"));
    EXPECT_THAT(getenv("OMPI_MCA_opal_event_include"), StrEq("epoll"));
  });
}

TEST(Environment, TcpRailsByName) {
  const Sysfs sysfs;
  sysfs.nic("eth0", 100000, "up", 0, "0-47");
  sysfs.nic("eth1", 100000, "up", 1, "48-95");
  in_own_process([&] {
    setenv("OMPI_MCA_btl_tcp_if_include", "eth0,eth1", 1);
    EXPECT_EQ(choose_environment(sysfs.path()), "ob1/tcp on 2 x 100 Gb/s (eth0, eth1)");
  });
}

// An interface of this machine that is not loopback, and its address; empty where there is none.
std::pair<std::string, std::string> interface_of_this_machine() {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(raw, freeifaddrs);
  for (const ifaddrs* i = raw; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET) continue;
    if ((i->ifa_flags & IFF_LOOPBACK) != 0) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* address = reinterpret_cast<const sockaddr_in*>(i->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size()) == nullptr) continue;
    return {i->ifa_name, text.data()};
  }
  return {};
}

TEST(Environment, ARailThatIsUpAndNotUsedIsNamed) {
  const auto [name, address] = interface_of_this_machine();
  if (name.empty()) GTEST_SKIP() << "no network but loopback";
  const Sysfs sysfs;
  sysfs.nic(name, 100000, "up", 0, "0-47");
  sysfs.nic("rail9", 100000, "up", 1, "48-95");
  const std::string met = name, at = address;
  in_own_process([&] {
    setenv("STAGE_MODEL_ADDRESS", at.c_str(), 1);
    EXPECT_THAT(choose_environment(sysfs.path()), HasSubstr("up and not used: rail9 (100 Gb/s)"));
    EXPECT_THAT(getenv("OMPI_MCA_btl_tcp_if_include"), StrEq(met));
  });
  in_own_process([&] {
    setenv("STAGE_MODEL_ADDRESS", at.c_str(), 1);
    setenv("OMPI_MCA_btl_tcp_if_include", (met + ",rail9").c_str(), 1);
    EXPECT_THAT(choose_environment(sysfs.path()), Not(HasSubstr("not used")));
  });
}

TEST(Environment, TheInterfaceOfAnAddress) {
  EXPECT_EQ(interface_of("203.0.113.77"), "");
  EXPECT_EQ(interface_of("no address"), "");
  const auto [name, address] = interface_of_this_machine();
  if (name.empty()) GTEST_SKIP() << "no network but loopback";
  EXPECT_EQ(interface_of(address), name.substr(0, name.find(':')));
}

// mpirun --mca NAME VALUE puts OMPI_MCA_NAME=VALUE into the environment of the ranks.
TEST(Environment, TheAlgorithmIsChosenWhateverTheNetworkIs) {
  const Sysfs sysfs;
  const auto algorithm = [] {
    const auto text = [](const char* name) {
      const char* value = getenv(name);
      return std::string(value != nullptr ? value : "-");
    };
    return text("OMPI_MCA_coll_adapt_priority") + " " +
           text("OMPI_MCA_coll_adapt_bcast_algorithm") + " " +
           text("OMPI_MCA_coll_adapt_bcast_segment_size");
  };
  in_own_process([&] {
    setenv("OMPI_MCA_pml", "ob1", 1);
    setenv("OMPI_MCA_btl", "tcp,self", 1);
    EXPECT_THAT(choose_environment(sysfs.path()), StartsWith("ob1/tcp"));
    EXPECT_EQ(algorithm(), "100 4 65536");
    EXPECT_THAT(getenv("OMPI_MCA_btl_tcp_if_exclude"), HasSubstr("docker0"));
  });
  in_own_process([&] {
    setenv("OMPI_MCA_pml", "ob1", 1);
    setenv("OMPI_MCA_btl", "^tcp", 1);
    EXPECT_EQ(choose_environment(sysfs.path()), "ob1/^tcp");
    EXPECT_EQ(algorithm(), "100 4 524288");
  });
  in_own_process([&] {
    setenv("OMPI_MCA_pml", "cm", 1);
    EXPECT_EQ(choose_environment(sysfs.path()), "cm");
    EXPECT_EQ(algorithm(), "100 4 524288");
  });
  in_own_process([&] {
    setenv("OMPI_MCA_pml", "ucx", 1);
    setenv("STAGE_MODEL_NODES", "1000", 1);
    EXPECT_EQ(choose_environment(sysfs.path()), "ucx");
    EXPECT_EQ(algorithm(), "100 4 131072");
  });
  in_own_process([&] {  // as sites with HPC-X do
    setenv("OMPI_MCA_coll", "^hcoll", 1);
    choose_environment(sysfs.path());
    EXPECT_EQ(algorithm(), "100 4 65536");
  });
}

TEST(Environment, AnAlgorithmThatIsAskedForStays) {
  const Sysfs sysfs;
  for (const auto& [name, value] : {std::pair{"OMPI_MCA_coll", "^adapt"},
                                    {"OMPI_MCA_coll", "tuned,libnbc,basic"},
                                    {"OMPI_MCA_coll_libnbc_ibcast_algorithm", "3"}}) {
    in_own_process([&, name = name, value = value] {
      setenv(name, value, 1);
      choose_environment(sysfs.path());
      EXPECT_EQ(getenv("OMPI_MCA_coll_adapt_priority"), nullptr) << name << value;
      EXPECT_EQ(getenv("OMPI_MCA_coll_adapt_bcast_segment_size"), nullptr) << name << value;
    });
  }
  in_own_process([&] {
    setenv("OMPI_MCA_coll_adapt_bcast_algorithm", "5", 1);
    choose_environment(sysfs.path());
    EXPECT_THAT(getenv("OMPI_MCA_coll_adapt_priority"), StrEq("100"));
    EXPECT_THAT(getenv("OMPI_MCA_coll_adapt_bcast_algorithm"), StrEq("5"));
  });
}

// Setting if_exclude beside a file's if_include would end MPI_Init.
TEST(Environment, ParameterFilesAreAskedToo) {
  const Sysfs sysfs;
  sysfs.nd_h100();
  sysfs.nic("eth7", 100000, "up", 0, "0-47");
  const std::string file = sysfs.path() + "/params.conf";
  const auto with = [&](const std::string& text, const std::function<void()>& check) {
    sysfs.file("params.conf", text);
    in_own_process([&] {
      setenv("OMPI_MCA_mca_base_param_files", ("/none," + file).c_str(), 1);
      check();
    });
  };
  with("# the site's\nbtl = tcp,self # no vader\n btl_tcp_if_include=eth7\ncoll = ^adapt\n", [&] {
    EXPECT_EQ(choose_environment(sysfs.path()), "ob1/tcp on eth7 (100 Gb/s)");
    EXPECT_EQ(getenv("OMPI_MCA_btl"), nullptr);
    EXPECT_EQ(getenv("OMPI_MCA_btl_tcp_if_include"), nullptr);
    EXPECT_EQ(getenv("OMPI_MCA_btl_tcp_if_exclude"), nullptr);
    EXPECT_THAT(getenv("OMPI_MCA_coll_adapt_priority"), StrEq("100"));
  });
  with("coll = tuned,libnbc", [&] {
    choose_environment(sysfs.path());
    EXPECT_EQ(getenv("OMPI_MCA_coll_adapt_priority"), nullptr);
  });
  with("pml = ^ucx\nbtl = ^uct,openib,ofi", [&] {  // Debian's
    EXPECT_THAT(choose_environment(sysfs.path()), StartsWith("ucx on 8 x 400 Gb/s"));
    EXPECT_THAT(getenv("OMPI_MCA_pml"), StrEq("ucx"));
  });
  in_own_process([&] {
    sysfs.file("home/.openmpi/mca-params.conf", "pml = cm");
    setenv("HOME", (sysfs.path() + "/home").c_str(), 1);
    EXPECT_EQ(choose_environment(sysfs.path()), "cm");
  });
}

TEST(Environment, ThreadsStayNearTheRailUnlessToldNotTo) {
  const int first = first_of_several_cpus();
  if (first < 0) GTEST_SKIP() << "one CPU";
  const Sysfs sysfs;
  sysfs.numa(2, 48);
  sysfs.hca("mlx5_0", "InfiniBand", "4: ACTIVE", "400 Gb/sec (4X NDR)", 1, std::to_string(first));
  in_own_process([&] {
    EXPECT_EQ(choose_environment(sysfs.path()),
              "ucx on mlx5_0:1 (400 Gb/s), threads on the 1 CPU(s) near");
    cpu_set_t now;
    ASSERT_EQ(sched_getaffinity(0, sizeof now, &now), 0);
    EXPECT_EQ(CPU_COUNT(&now), 1);
  });
  in_own_process([&] {
    setenv("STAGE_MODEL_PIN", "none", 1);
    EXPECT_EQ(choose_environment(sysfs.path()), "ucx on mlx5_0:1 (400 Gb/s)");
  });
}

}  // namespace
}  // namespace stage_model::mpi
