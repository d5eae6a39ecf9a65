#include "engine/report/summary.h"

#include <gmock/gmock.h>

namespace stage_model::report {
namespace {

using testing::HasSubstr;

TEST(Summary, OneLineForEachStage) {
  Summary summary;
  summary.stages = {{"download", 2'000'000'000, 0, 4, "3 requests"},
                    {"publish", 0, 0, 1, "", false},
                    {"total", 10, 0, 0, ""}};
  EXPECT_EQ(text(summary),
            "[download] 2000000000 bytes  4.000 s  0.500 GB/s  (3 requests)\n"
            "[total] 10 bytes  0.000 s  0.000 GB/s\n");
}

TEST(Summary, JsonIsEscaped) {
  EXPECT_EQ(json_string("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\"");
  Summary summary;
  summary.source = "az://a/\"b\"/";
  summary.counters = {{"requests", 3}};
  summary.stages = {{"list", 1, 0, 1, ""}};
  EXPECT_THAT(json(summary), HasSubstr("\"source\": \"az://a/\\\"b\\\"/\""));
  EXPECT_THAT(json(summary), HasSubstr("\"requests\": 3"));
}

TEST(Summary, CountsPerNode) {
  Summary summary;
  summary.per_node = {"requests", "retries_throttle"};
  summary.nodes = {{"n1", {5, 0}}, {"n2", {9, 4}}, {"n3", {7, 3}}};
  EXPECT_EQ(throttled(summary.nodes, 1), "; throttled 7 times, most on n2 (4)");
  EXPECT_THAT(json(summary),
              HasSubstr("\"nodes\": [\n"
                        "    {\"node\": \"n1\", \"requests\": 5, \"retries_throttle\": 0},\n"
                        "    {\"node\": \"n2\", \"requests\": 9, \"retries_throttle\": 4},\n"
                        "    {\"node\": \"n3\", \"requests\": 7, \"retries_throttle\": 3}\n"
                        "  ],\n"));
  summary.nodes = {{"n1", {5, 0}}};
  EXPECT_EQ(throttled(summary.nodes, 1), "");
}

}  // namespace
}  // namespace stage_model::report
