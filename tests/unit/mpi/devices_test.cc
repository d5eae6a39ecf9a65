#include "engine/mpi/devices.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <thread>

#include "tests/unit/mpi/sysfs.h"

namespace stage_model::mpi {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> names(const std::vector<Rail>& rails) {
  std::vector<std::string> all;
  for (const Rail& rail : rails) all.push_back(rail.name);
  return all;
}

TEST(RdmaRails, AllOfAnNdH100AndNotItsEthernet) {
  const Sysfs sysfs;
  sysfs.nd_h100();
  const auto rails = rdma_rails(sysfs.path());
  EXPECT_THAT(names(rails), ElementsAre("mlx5_ib0:1", "mlx5_ib1:1", "mlx5_ib2:1", "mlx5_ib3:1",
                                        "mlx5_ib4:1", "mlx5_ib5:1", "mlx5_ib6:1", "mlx5_ib7:1"));
  EXPECT_EQ(rails[3].numa_node, 0);
  EXPECT_EQ(rails[4].numa_node, 1);
  EXPECT_EQ(rails[4].gbits, 400);
  EXPECT_EQ(describe(rails).substr(0, 26), "8 x 400 Gb/s (mlx5_ib0:1, ");
  EXPECT_THAT(near_cpus(sysfs.path(), rails), SizeIs(96));
}

TEST(RdmaRails, NotAPortThatIsDown) {
  const Sysfs sysfs;
  sysfs.nd_h100();
  sysfs.file("class/infiniband/mlx5_ib5/ports/1/state", "1: DOWN");
  sysfs.file("class/infiniband/mlx5_ib6/ports/1/state", "2: INIT");
  EXPECT_THAT(names(rdma_rails(sysfs.path())),
              ElementsAre("mlx5_ib0:1", "mlx5_ib1:1", "mlx5_ib2:1", "mlx5_ib3:1", "mlx5_ib4:1",
                          "mlx5_ib7:1"));
}

TEST(RdmaRails, SlowerOnesAreForSomethingElse) {
  const Sysfs sysfs;
  sysfs.hca("mlx5_2", "InfiniBand", "4: ACTIVE", "400 Gb/sec (4X NDR)", 0, "0");
  sysfs.hca("mlx5_10", "InfiniBand", "4: ACTIVE", "400 Gb/sec (4X NDR)", 0, "0");
  sysfs.hca("mlx5_0", "InfiniBand", "4: ACTIVE", "200 Gb/sec (4X HDR)", 0, "0");
  EXPECT_THAT(names(rdma_rails(sysfs.path())), ElementsAre("mlx5_2:1", "mlx5_10:1"));
}

TEST(RdmaRails, BothPortsOfOneDevice) {
  const Sysfs sysfs;
  for (const char* port : {"1", "2"}) {
    const std::string at = std::string("class/infiniband/mlx5_0/ports/") + port;
    sysfs.file(at + "/state", "4: ACTIVE");
    sysfs.file(at + "/link_layer", "InfiniBand");
    sysfs.file(at + "/rate", "56 Gb/sec (4X FDR)");
  }
  EXPECT_THAT(names(rdma_rails(sysfs.path())), ElementsAre("mlx5_0:1", "mlx5_0:2"));
}

TEST(RdmaRails, RoceNeedsAnAddress) {
  const Sysfs sysfs;
  const char* rate = "100 Gb/sec (4X EDR)";
  sysfs.hca("mlx5_0", "Ethernet", "4: ACTIVE", rate, 0, "0", kIpv4);
  sysfs.hca("mlx5_1", "Ethernet", "4: ACTIVE", rate, 0, "0");  // link-local alone
  EXPECT_THAT(names(rdma_rails(sysfs.path())), ElementsAre("mlx5_0:1"));
}

TEST(RdmaRails, NoneWithoutRdma) {
  const Sysfs sysfs;
  EXPECT_THAT(rdma_rails(sysfs.path()), IsEmpty());
  sysfs.hca("rdmap0s6", "Unspecified", "4: ACTIVE", "100 Gb/sec", 0, "0");  // EFA
  EXPECT_THAT(rdma_rails(sysfs.path()), IsEmpty());
}

TEST(NetworkRail, SpeedAndPlace) {
  const Sysfs sysfs;
  sysfs.nic("eth0", 100000, "up", 1, "48-95");
  const Rail rail = network_rail(sysfs.path(), "eth0");
  EXPECT_EQ(rail.gbits, 100);
  EXPECT_EQ(rail.numa_node, 1);
  EXPECT_EQ(describe({rail}), "eth0 (100 Gb/s)");
  sysfs.file("class/net/veth0/speed", "-1");
  EXPECT_EQ(describe({network_rail(sysfs.path(), "veth0")}), "veth0");
  EXPECT_EQ(network_rail(sysfs.path(), "10.0.0.0/8").numa_node, -1);
}

TEST(NetworkRail, ABondIsWhereItsHardwareIs) {
  const Sysfs sysfs;
  sysfs.file("class/net/bond0/speed", "200000");
  sysfs.place("class/net/bond0/lower_eth1", 1, "48-95");
  EXPECT_EQ(network_rail(sysfs.path(), "bond0").numa_node, 1);
}

TEST(IdleRails, HardwareThatIsUpAndFastEnough) {
  const Sysfs sysfs;
  sysfs.nic("eth0", 25000, "up", 0, "0");
  sysfs.nic("eth1", 100000, "up", 0, "0");
  sysfs.nic("eth2", 100000, "down", 0, "0");
  sysfs.nic("eth3", 1000, "up", 0, "0");
  sysfs.nic("eth4", 100000, "up", 0, "0");
  sysfs.file("class/net/eth4/master/speed", "100000");
  sysfs.file("class/net/docker0/speed", "100000");
  sysfs.file("class/net/docker0/operstate", "up");
  EXPECT_THAT(names(idle_rails(sysfs.path(), {network_rail(sysfs.path(), "eth0")})),
              ElementsAre("eth1"));
}

TEST(NearCpus, OnlyWhereThereIsAChoice) {
  const Rail here{"eth0", 100, 1, "4-7"};
  {
    const Sysfs sysfs;
    sysfs.numa(1, 8);
    EXPECT_THAT(near_cpus(sysfs.path(), {here}), IsEmpty());
  }
  const Sysfs sysfs;
  sysfs.numa(2, 4);
  sysfs.file("devices/system/node/node2/cpulist", "");  // memory alone
  EXPECT_THAT(near_cpus(sysfs.path(), {here}), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(near_cpus(sysfs.path(), {{"a", 1, 1, ""}}), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(near_cpus(sysfs.path(), {here, {"eth1", 100, -1, ""}}), IsEmpty());
  EXPECT_THAT(near_cpus(sysfs.path(), {}), IsEmpty());
}

TEST(CpuList, AsSysfsWritesIt) {
  EXPECT_THAT(parse_cpu_list("0-2,5"), ElementsAre(0, 1, 2, 5));
  EXPECT_THAT(parse_cpu_list("7"), ElementsAre(7));
  for (const char* bad : {"", "a", "1-", "3-1", "1;2", "1,,2", "-1", "0-99999999", "9999999999"}) {
    EXPECT_THAT(parse_cpu_list(bad), IsEmpty()) << bad;
  }
}

// In a thread of its own, whose affinity ends with it. The tree calls the first CPU that the test
// may use "near", and there must be another one to be kept from.
TEST(StayNear, NarrowsThisThreadAndThoseThatItStarts) {
  const int first = first_of_several_cpus();
  if (first < 0) GTEST_SKIP() << "one CPU";
  const Sysfs sysfs;
  sysfs.numa(2, 4);
  std::thread([&] {
    const std::vector<Rail> rails = {{"mlx5_0:1", 400, 0, std::to_string(first)}};
    EXPECT_EQ(stay_near(sysfs.path(), rails), 1U);
    std::thread([first] {
      cpu_set_t now;
      ASSERT_EQ(sched_getaffinity(0, sizeof now, &now), 0);
      EXPECT_EQ(CPU_COUNT(&now), 1);
      EXPECT_TRUE(CPU_ISSET(first, &now));
      EXPECT_EQ(own_cpus(), 1U);
    }).join();
    EXPECT_EQ(stay_near(sysfs.path(), rails), 0U);  // nothing changes
    // Somebody else gave us CPUs far from the rail: theirs is the last word.
    EXPECT_EQ(stay_near(sysfs.path(), {{"mlx5_0:1", 400, 0, "8000"}}), 0U);
  }).join();
}

}  // namespace
}  // namespace stage_model::mpi
