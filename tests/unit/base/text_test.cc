#include "engine/base/text.h"

#include <gtest/gtest.h>

namespace stage_model {
namespace {

TEST(Text, QuoteMakesOneSafeLine) {
  EXPECT_EQ(quote("a b"), "\"a b\"");
  EXPECT_EQ(quote("a\n\x1b[31m"), "\"a\\x0a\\x1b[31m\"");
  EXPECT_EQ(quote("caf\xc3\xa9"), "\"caf\xc3\xa9\"");
  EXPECT_EQ(quote("caf\xe9"), "\"caf\\xe9\"");
  EXPECT_EQ(quote("abcdef", 3), "\"abc...\"");
}

TEST(Text, PrintableKeepsWhatIsACharacter) {
  EXPECT_EQ(printable("a b"), "a b");
  EXPECT_EQ(printable("\n\x7f\xc3\xa9\xff"), "\\x0a\\x7f\xc3\xa9\\xff");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
}

TEST(Text, Hex) {
  EXPECT_EQ(to_hex(std::string("\0\xffz", 3)), "00ff7a");
  EXPECT_EQ(from_hex("00fF7a", 3), std::string("\0\xffz", 3));
  for (const char* text : {"", "00f", "00ff7", "00ff7g", "00ff7a00"})
    EXPECT_EQ(from_hex(text, 3), "");
}

TEST(Text, OneLineNeverCutsACharacter) {
  EXPECT_EQ(one_line("first\nsecond\n"), "first second");
  EXPECT_EQ(one_line("ab\xc3\xa9", 3), "ab");
  EXPECT_EQ(one_line("ab\xc3\xa9", 4), "ab\xc3\xa9");
  EXPECT_EQ(one_line("ab\xe9"), "ab?");
}

TEST(Text, Utf8) {
  EXPECT_TRUE(valid_utf8("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"));
  for (const char* text : {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80",
                           "\xf4\x90\x80\x80", "\xc3", "\x80", "\xe2\x82"}) {
    EXPECT_FALSE(valid_utf8(text));
  }
}

TEST(Text, Paths) {
  for (const char* path : {"/", "/a", "/a/b.c", "/a/...", "/a b"}) {
    EXPECT_TRUE(normal_absolute_path(path)) << path;
  }
  for (const char* path : {"", "a", "./a", "/a/", "//a", "/a//b", "/a/../b", "/..", "/.", "/a\n"}) {
    EXPECT_FALSE(normal_absolute_path(path)) << path;
  }
}

TEST(Text, Names) {
  EXPECT_TRUE(valid_job("1234_5.x-y"));
  for (const char* job : {"", ".", "..", "a/b", "a b"}) EXPECT_FALSE(valid_job(job)) << job;
  EXPECT_FALSE(valid_job(std::string(65, '1')));
  EXPECT_TRUE(valid_variable_name("_A1"));
  for (const char* name : {"", "1A", "A=B", "A-B"}) EXPECT_FALSE(valid_variable_name(name)) << name;
}

TEST(Text, PercentCodesEveryByteButAFew) {
  EXPECT_EQ(percent_encode("az09-._~ /%\xff"), "az09-._~%20%2F%25%FF");
  EXPECT_EQ(percent_encode("a/b c", "/"), "a/b%20c");
  EXPECT_EQ(percent_decode("a%2fb%2F%00"), std::string("a/b/\0", 5));
  for (const char* damaged : {"%", "a%2", "%g0", "%0g", "%%20"}) {
    EXPECT_EQ(percent_decode(damaged), std::nullopt) << damaged;
  }
}

}  // namespace
}  // namespace stage_model
