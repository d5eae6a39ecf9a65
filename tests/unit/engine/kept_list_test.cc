#include "engine/kept_list.h"

#include <gmock/gmock.h>

#include "engine/plan/pack.h"

namespace stage_model {
namespace {

plan::Listing listing() {
  plan::Listing out;
  out.source = "hf://org/model@0123";
  out.lineage = "hf://org/model";
  out.resolved = "https://hub\n\n0123";
  out.objects.resize(1);
  out.objects[0].name = "config.json";
  out.objects[0].size = 7;
  out.directories = {"empty"};
  return out;
}

TEST(KeptList, ComesBackAsItWas) {
  const auto back = read_kept_list(write_kept_list(listing(), {}), {});
  ASSERT_TRUE(back);
  EXPECT_EQ(plan::pack(*back), plan::pack(listing()));
}

TEST(KeptList, NoByteOfItMayChange) {
  const std::string text = write_kept_list(listing(), {});
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(read_kept_list(damaged, {})) << i;
    EXPECT_FALSE(read_kept_list(text.substr(0, i), {})) << i;
  }
  EXPECT_FALSE(read_kept_list(text + "x", {}));
}

TEST(KeptList, IsOfOneFilter) {
  plan::Filter include;
  include.include = {"*.json"};
  plan::Filter exclude;
  exclude.exclude = {"*.json"};
  plan::Filter two;
  two.include = {"*.js", "on"};
  const std::string text = write_kept_list(listing(), include);
  EXPECT_TRUE(read_kept_list(text, include));
  EXPECT_FALSE(read_kept_list(text, {}));
  EXPECT_FALSE(read_kept_list(text, exclude));
  EXPECT_FALSE(read_kept_list(text, two));
}

}  // namespace
}  // namespace stage_model
