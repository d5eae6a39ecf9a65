#include "stage_model/launch_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stage_model {
namespace {

using ::testing::HasSubstr;

LaunchOrder example() {
  LaunchOrder order;
  order.job = "1234";
  order.index = 1;
  order.nodes = {{"n1", "10.0.0.1"}, {"n2", ""}};
  order.uid = 20001;
  order.gid = 4294967294u;
  order.user = "alice";
  order.user_root = "/nvme/alice";
  order.root = "/nvme";
  order.record_dir = "/run/stage-model/1234";
  order.runs = {{"", "/nvme/alice/a b", {"az://acct/c/a \"b\"\\", "caf\u00e9"}},
                {"TOKENIZER", "/nvme/alice/t", {"--include", "*.json\n\t\x01"}}};
  order.credentials = {"AZURE_STORAGE_KEY=a=b\"'\\==", "EMPTY="};
  order.deadline_s = 12.5;
  return order;
}

TEST(LaunchOrder, SurvivesTheRoundTrip) {
  const LaunchOrder a = example();
  const auto b = parse_order(write_order(a));
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ(write_order(*b), write_order(a));
  EXPECT_EQ(b->index, 1u);
  EXPECT_EQ(b->gid, 4294967294u);
  EXPECT_EQ(b->nodes[0].address, "10.0.0.1");
  EXPECT_EQ(b->runs[0].arguments, a.runs[0].arguments);
  EXPECT_EQ(b->runs[1].arguments, a.runs[1].arguments);
  EXPECT_EQ(b->credentials, a.credentials);
  EXPECT_DOUBLE_EQ(b->deadline_s, 12.5);
}

TEST(LaunchOrder, Strict) {
  const std::string good = write_order(example());
  ASSERT_TRUE(parse_order(good));
  EXPECT_FALSE(parse_order(""));
  EXPECT_THAT(parse_order("new_key = 1\n" + good).error().message, HasSubstr("unknown key"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const auto parsed = parse_order(text);
    return parsed ? std::string("no error") : parsed.error().message;
  };
  EXPECT_THAT(with("format = 2", "format = 1"), HasSubstr("different versions"));
  EXPECT_THAT(with("job = \"1234\"", "job = \"../x\""), HasSubstr("job: "));
  EXPECT_THAT(with("index = 1", "index = 2"), HasSubstr("index: "));
  EXPECT_THAT(with("index = 1", "index = -1"), HasSubstr("index: "));
  EXPECT_THAT(with("\"n2\"", "\"n1\""), HasSubstr("is there twice"));
  EXPECT_THAT(with("uid = 20001", "uid = 4294967295"), HasSubstr("uid: "));
  EXPECT_THAT(with("root = \"/nvme\"", "root = \"/nvme/../etc\""), HasSubstr("root: "));
}

TEST(LaunchOrder, ErrorsShowNoCredential) {
  std::string text = write_order(example());
  const std::string item = "AZURE_STORAGE_KEY=";
  text.replace(text.find(item), item.size(), "9secretvalue");
  const auto parsed = parse_order(text);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message.find("9secretvalue"), std::string::npos);
}

}  // namespace
}  // namespace stage_model
