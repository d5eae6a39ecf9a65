#include "stage_model/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stage_model {
namespace {

using ::testing::HasSubstr;

Request example() {
  Request request;
  request.job = "1234";
  request.index = 1;
  request.nodes = {{"n1", "10.0.0.1"}, {"n2", ""}};
  request.uid = 20001;
  request.gid = 4294967294u;
  request.user = "alice";
  request.user_root = "/nvme/alice";
  request.root = "/nvme";
  request.record_dir = "/run/stage-model/1234";
  request.runs = {
      {"", "/nvme/alice/a b", {"az://acct/c/a \"b\"\\", "/nvme/alice/a b", "caf\u00e9"}},
      {"TOKENIZER", "/nvme/alice/t", {"--include", "*.json\n\t\x01"}}};
  request.credentials = {"AZURE_STORAGE_KEY=a=b\"'\\==", "EMPTY="};
  request.deadline_s = 12.5;
  return request;
}

TEST(Request, SurvivesTheRoundTrip) {
  const Request a = example();
  const auto b = parse_request(write_request(a));
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ(write_request(*b), write_request(a));
  EXPECT_EQ(b->index, 1u);
  EXPECT_EQ(b->gid, 4294967294u);
  EXPECT_EQ(b->nodes[0].address, "10.0.0.1");
  EXPECT_EQ(b->runs[0].arguments, a.runs[0].arguments);
  EXPECT_EQ(b->runs[1].arguments, a.runs[1].arguments);
  EXPECT_EQ(b->credentials, a.credentials);
  EXPECT_DOUBLE_EQ(b->deadline_s, 12.5);
}

TEST(Request, Strict) {
  const std::string good = write_request(example());
  ASSERT_TRUE(parse_request(good));
  EXPECT_FALSE(parse_request(""));
  EXPECT_THAT(parse_request("new_key = 1\n" + good).error().message, HasSubstr("unknown key"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const auto parsed = parse_request(text);
    return parsed ? std::string("no error") : parsed.error().message;
  };
  EXPECT_THAT(with("format = 1", "format = 2"), HasSubstr("different versions"));
  EXPECT_THAT(with("job = \"1234\"", "job = \"../x\""), HasSubstr("job: "));
  EXPECT_THAT(with("index = 1", "index = 2"), HasSubstr("index: "));
  EXPECT_THAT(with("index = 1", "index = -1"), HasSubstr("index: "));
  EXPECT_THAT(with("\"n2\"", "\"n1\""), HasSubstr("is there twice"));
  EXPECT_THAT(with("uid = 20001", "uid = 4294967295"), HasSubstr("uid: "));
  EXPECT_THAT(with("root = \"/nvme\"", "root = \"/nvme/../etc\""), HasSubstr("root: "));
}

TEST(Request, ErrorsShowNoCredential) {
  std::string text = write_request(example());
  const std::string item = "AZURE_STORAGE_KEY=";
  text.replace(text.find(item), item.size(), "9secretvalue");
  const auto parsed = parse_request(text);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message.find("9secretvalue"), std::string::npos);
}

}  // namespace
}  // namespace stage_model
