#include "engine/plan/filter.h"

#include <gmock/gmock.h>

namespace stage_model::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Listing listing(std::vector<std::string> names) {
  Listing out;
  out.source = "az://acct/models/llama/";
  for (auto& name : names) out.objects.push_back({name, name, 1, "", {}});
  return out;
}

std::vector<std::string> names(const Listing& listing) {
  std::vector<std::string> out;
  for (const Object& object : listing.objects) out.push_back(object.name);
  return out;
}

TEST(Filter, ExcludeWinsAndStarCrossesSlashes) {
  Listing l = listing({"a.safetensors", "original/x.pth", "sub/b.safetensors", "tokenizer.json"});
  ASSERT_TRUE(apply_filter({{"*.safetensors", "*.json"}, {"sub/*"}, {}}, l));
  EXPECT_THAT(names(l), ElementsAre("a.safetensors", "tokenizer.json"));
}

TEST(Filter, NothingFoundIsNeverSuccess) {
  Listing empty = listing({});
  auto ok = apply_filter({}, empty);
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, ExitCode::kSource);
  EXPECT_THAT(ok.error().message, HasSubstr("nothing found under az://acct/models/llama/"));
  Listing l = listing({"a", "b"});
  ok = apply_filter({{"*.bin"}, {}, {}}, l);
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message, HasSubstr("none of the 2 objects"));
}

TEST(Filter, MissingNameOfAFileListIsAnError) {
  Listing l = listing({"a", "b"});
  const auto ok = apply_filter({{}, {}, {"a", "c"}}, l);
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message, HasSubstr("'c'"));
  Listing two = listing({"a", "b"});
  ASSERT_TRUE(apply_filter({{}, {}, {"b"}}, two));
  EXPECT_THAT(names(two), ElementsAre("b"));
}

TEST(NameList, RoundTripsAnyName) {
  const Listing l = listing({"a b", "back\\slash", "line\nbreak", "\xff", " lead"});
  const auto parsed = parse_name_list(write_name_list(l));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, names(l));
  EXPECT_FALSE(parse_name_list(""));
  EXPECT_FALSE(parse_name_list("a\\q\n"));
  EXPECT_THAT(*parse_name_list("a\r\nb"), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace stage_model::plan
