#include "stage_model/units.h"

#include <gtest/gtest.h>

namespace stage_model {
namespace {

TEST(ParseSize, TakesWhatPeopleWrite) {
  EXPECT_EQ(*parse_size("0"), 0u);
  EXPECT_EQ(*parse_size("4096"), 4096u);
  EXPECT_EQ(*parse_size("17B"), 17u);
  EXPECT_EQ(*parse_size("64k"), 64u << 10);
  EXPECT_EQ(*parse_size("64K"), 64u << 10);
  EXPECT_EQ(*parse_size("64Ki"), 64u << 10);
  EXPECT_EQ(*parse_size("16MiB"), 16u << 20);
  EXPECT_EQ(*parse_size("200MB"), 200'000'000u);
  EXPECT_EQ(*parse_size("1.5GiB"), 3ull << 29);
  EXPECT_EQ(*parse_size("1.5GB"), 1'500'000'000u);
  EXPECT_EQ(*parse_size("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(*parse_size("15PiB"), 15ull << 50);
}

TEST(ParseSize, RefusesTheRestAndQuotesIt) {
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.", ".5", "1e3", "16MiBx", "16bytes",
                           "MiB", "1.5", "1.5B", "1,5GB", "1iB", "1Mb", "0x10", "inf", "nan"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().code, ExitCode::kUsage);
    EXPECT_NE(size.error().message.find("\"" + std::string(text) + "\""), std::string::npos);
  }
}

TEST(ParseSize, RefusesOverflow) {
  EXPECT_FALSE(parse_size("18446744073709551616"));
  EXPECT_FALSE(parse_size("16384PiB"));
  EXPECT_FALSE(parse_size("99999999999999999999999999GB"));
}

TEST(ParseRate, TellsBitsFromBytes) {
  EXPECT_DOUBLE_EQ(*parse_rate("1000"), 1000);
  EXPECT_DOUBLE_EQ(*parse_rate("50Gbps"), 6.25e9);
  EXPECT_DOUBLE_EQ(*parse_rate("400Mbit/s"), 5e7);
  EXPECT_DOUBLE_EQ(*parse_rate("6GB/s"), 6e9);
  EXPECT_DOUBLE_EQ(*parse_rate("6GiB/s"), 6442450944.0);
  EXPECT_DOUBLE_EQ(*parse_rate("0.5kB/s"), 500);
  for (const char* text : {"", "-5Gbps", "6GB", "6G", "Gbps", "6 GB/s", "6GB/min"}) {
    EXPECT_FALSE(parse_rate(text)) << text;
  }
}

TEST(ParseDuration, Units) {
  EXPECT_DOUBLE_EQ(*parse_duration("90"), 90);
  EXPECT_DOUBLE_EQ(*parse_duration("1.5s"), 1.5);
  EXPECT_DOUBLE_EQ(*parse_duration("250ms"), 0.25);
  EXPECT_DOUBLE_EQ(*parse_duration("30m"), 1800);
  EXPECT_DOUBLE_EQ(*parse_duration("1h"), 3600);
  EXPECT_DOUBLE_EQ(*parse_duration("1d"), 86400);
  for (const char* text : {"", "-1", "1w", "1h30m", "m", "1 s"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(FormatSize, ReadsWell) {
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(16 << 20), "16 MiB");
  EXPECT_EQ(format_size(3435973837), "3.2 GiB");
  EXPECT_EQ(format_size((1u << 20) - 1), "1 MiB");
  EXPECT_EQ(format_size(UINT64_MAX), "16 EiB");
}

}  // namespace
}  // namespace stage_model
