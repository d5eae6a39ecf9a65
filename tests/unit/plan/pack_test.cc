#include "engine/plan/pack.h"

#include <gtest/gtest.h>

namespace stage_model::plan {
namespace {

TEST(Pack, RoundTripAndEveryTruncationIsAnError) {
  Listing in;
  in.source = "az://a/c/";
  in.resolved = "x";
  in.objects.push_back(
      {"a\nb", "p/a\nb", 1ull << 42, "\"0x1\"", {StoreHash::Kind::kMd5, std::string("\0\1", 2)}});
  in.objects.push_back({"empty", "p/empty", 0, "", {}});
  in.directories = {"d"};
  const std::string bytes = pack(in);
  const auto out = unpack(bytes);
  ASSERT_TRUE(out);
  EXPECT_EQ(pack(*out), bytes);
  EXPECT_EQ(out->objects[0].hash.bytes, in.objects[0].hash.bytes);
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(unpack(std::string_view(bytes).substr(0, n))) << n;
  EXPECT_FALSE(unpack(bytes + "x"));
}

}  // namespace
}  // namespace stage_model::plan
