#include "engine/base/bytes.h"

#include <gtest/gtest.h>

namespace stage_model {
namespace {

TEST(Bytes, TheFormIsFixed) {
  using namespace std::string_view_literals;
  EXPECT_EQ(ByteWriter().number(0x0102, 4).text("ab").bytes(),
            "\x02\x01\0\0\x02\0\0\0\0\0\0\0"
            "ab"sv);
}

TEST(Bytes, ComeOutAsTheyWentIn) {
  const std::string bytes =
      ByteWriter().number(UINT64_MAX).number(7, 4).text("").text("x\0y").raw("z").take();
  ByteReader in(bytes);
  EXPECT_EQ(in.number(), UINT64_MAX);
  EXPECT_EQ(in.number(4), 7U);
  EXPECT_EQ(in.text(), "");
  EXPECT_EQ(in.text(), "x");
  EXPECT_FALSE(in.done());
  EXPECT_EQ(in.raw(1), "z");
  EXPECT_TRUE(in.done());
}

TEST(Bytes, WhatIsMissingIsNeverRead) {
  const std::string bytes = ByteWriter().number(1'000'000).raw("abc").take();
  ByteReader text(bytes);
  EXPECT_EQ(text.text(), "");
  EXPECT_FALSE(text.ok());
  EXPECT_EQ(text.number(1), 0U);  // nor anything after it
  ByteReader items(bytes);
  EXPECT_EQ(items.count(8), 0U);
  EXPECT_FALSE(items.ok());
  ByteReader half("abc");
  EXPECT_EQ(half.number(4), 0U);
  EXPECT_FALSE(half.done());
}

}  // namespace
}  // namespace stage_model
