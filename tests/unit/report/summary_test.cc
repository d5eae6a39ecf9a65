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

}  // namespace
}  // namespace stage_model::report
