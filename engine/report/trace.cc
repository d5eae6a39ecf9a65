#include "engine/report/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/report/summary.h"

namespace stage_model::report {
namespace {

constexpr std::array<const char*, 6> kStages{"GET", "read", "hash", "wait", "broadcast", "write"};
// Spans of one track must not overlap, so a stage gets as many rows as it has chunks at once.
constexpr int kRowsPerStage = 1000;

}  // namespace

std::string Trace::events(int rank, const std::string& node, double offset) const {
  auto spans = spans_;
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::string out =
      fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", rank,
                  json_string(fmt::format("rank {} {}", rank, node)));
  std::array<std::vector<double>, kStages.size()> rows;  // when each row of a stage is free again
  for (const Span& span : spans) {
    const auto stage = static_cast<std::size_t>(span.stage);
    auto& ends = rows[stage];
    auto row =
        std::find_if(ends.begin(), ends.end(), [&](double end) { return end <= span.begin; });
    const bool fresh = row == ends.end();
    if (fresh) row = ends.insert(ends.end(), 0);
    *row = span.end;
    const auto number = row - ends.begin();
    const auto track = static_cast<long>(stage) * kRowsPerStage + number;
    if (fresh) {
      out += fmt::format(
          ",\n"
          R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{} {}"}}}})",
          rank, track, kStages[stage], number + 1);
    }
    out += fmt::format(
        ",\n"
        R"({{"ph":"X","name":"chunk {}","cat":"{}","pid":{},"tid":{},"ts":{:.1f},"dur":{:.1f},"args":{{"bytes":{}}}}})",
        span.chunk, kStages[stage], rank, track, (span.begin + offset) * 1e6,
        (span.end - span.begin) * 1e6, span.bytes);
  }
  return out;
}

std::string trace_file(const std::vector<std::string>& events) {
  std::string out = "{\"traceEvents\":[\n";
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i > 0) out += ",\n";
    out += events[i];
  }
  return out + "\n]}\n";
}

}  // namespace stage_model::report
