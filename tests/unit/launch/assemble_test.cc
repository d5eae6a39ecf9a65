#include "engine/launch/assemble.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace stage_model::launch {
namespace {

Options by_hand() {
  Options options;
  options.job = "7";
  options.index = 1;
  options.nodes = "a=10.0.0.1,b=10.0.0.2";
  options.engine_arguments = {"az://x/y/z/", "/dest"};
  return options;
}

TEST(ParseNodes, ListsAndFiles) {
  const auto list = parse_nodes("a,b=10.0.0.2,c=fd00::3");
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 3U);
  EXPECT_EQ((*list)[0].address, "");
  EXPECT_EQ((*list)[1].address, "10.0.0.2");
  EXPECT_EQ((*list)[2].address, "fd00::3");
  const auto file = parse_nodes("# nodes\na\n\n b=10.0.0.2 # second\n");
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)[1].name, "b");
}

TEST(ParseNodes, Refuses) {
  for (const char* bad : {"", "# none\n", "a,a", "=10.0.0.1", "a=nowhere"}) {
    EXPECT_FALSE(parse_nodes(bad)) << bad;
  }
}

TEST(AssembleOrder, FromOptions) {
  Options options = by_hand();
  options.root = "/nvme";
  options.record_dir = "/run/x/7/";
  options.user = "alice";
  const auto order = assemble_order(options);
  ASSERT_TRUE(order) << order.error().message;
  EXPECT_EQ(order->index, 1U);
  EXPECT_EQ(order->uid, geteuid());
  EXPECT_EQ(order->user_root, "/nvme/alice");
  EXPECT_EQ(order->record_dir, "/run/x/7");
  ASSERT_EQ(order->runs.size(), 1U);
  EXPECT_EQ(order->runs[0].arguments, options.engine_arguments);
}

TEST(AssembleOrder, Refuses) {
  Options options = by_hand();
  for (const char* job : {"", "a/b", "..", "."}) {
    options.job = job;
    EXPECT_FALSE(assemble_order(options)) << job;
  }
  options = by_hand();
  options.index = 2;
  EXPECT_FALSE(assemble_order(options));
  options = by_hand();
  options.engine_arguments.clear();
  EXPECT_FALSE(assemble_order(options));
  options = by_hand();
  options.root = "/nvme";
  options.user = "../etc";
  EXPECT_FALSE(assemble_order(options));
  options = by_hand();
  options.credential_names = {"NO_SUCH_VARIABLE_HERE"};
  EXPECT_FALSE(assemble_order(options));
}

TEST(AssembleOrder, CredentialsAreTakenOutOfTheEnvironment) {
  setenv("STAGE_TEST_SECRET", "s3cr3t", 1);
  const char* where = std::getenv("STAGE_TEST_SECRET");
  Options options = by_hand();
  options.credential_names = {"STAGE_TEST_SECRET"};
  const auto order = assemble_order(options);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->credentials, (std::vector<std::string>{"STAGE_TEST_SECRET=s3cr3t"}));
  EXPECT_EQ(std::getenv("STAGE_TEST_SECRET"), nullptr);
  EXPECT_STREQ(where, "") << "the bytes themselves are blanked";
}

TEST(FindEngine, AbsoluteOrBesideOrNamed) {
  EXPECT_EQ(*find_engine("/bin/sh"), "/bin/sh");
  EXPECT_FALSE(find_engine("/no/such/engine"));
  const auto missing = find_engine("no-such-engine");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("no-such-engine"), std::string::npos);
}

}  // namespace
}  // namespace stage_model::launch
