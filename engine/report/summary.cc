#include "engine/report/summary.h"

#include <fmt/format.h>

namespace stage_model::report {
namespace {

double rate(const StageLine& stage) {
  return stage.seconds > 0 ? static_cast<double>(stage.bytes) / stage.seconds / 1e9 : 0;
}

}  // namespace

std::string text(const Summary& summary) {
  std::string out;
  for (const StageLine& stage : summary.stages) {
    if (!stage.line) continue;
    out += fmt::format("[{}] {} bytes  {:.3f} s  {:.3f} GB/s", stage.name, stage.bytes,
                       stage.seconds, rate(stage));
    if (!stage.note.empty()) out += fmt::format("  ({})", stage.note);
    out += '\n';
  }
  return out;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i];
    } else if (c < 0x20) {
      out += fmt::format("\\u{:04x}", c);
    } else {
      out += text[i];
    }
  }
  return out + "\"";
}

std::string json(const Summary& summary) {
  std::string out = "{\n";
  out += fmt::format("  \"format\": 1,\n  \"source\": {},\n  \"destination\": {},\n",
                     json_string(summary.source), json_string(summary.destination));
  out += fmt::format("  \"transport\": {},\n  \"identity\": {},\n", json_string(summary.transport),
                     json_string(summary.identity));
  out += fmt::format("  \"ranks\": {},\n  \"objects\": {},\n  \"model_bytes\": {},\n",
                     summary.ranks, summary.objects, summary.model_bytes);
  for (const auto& [name, number] : summary.counters)
    out += fmt::format("  {}: {},\n", json_string(name), number);
  out += "  \"stages\": {\n";
  for (std::size_t i = 0; i < summary.stages.size(); ++i) {
    const StageLine& stage = summary.stages[i];
    out += fmt::format(
        "    {}: {{\"bytes\": {}, \"begin\": {:.6f}, \"seconds\": {:.6f}, \"gb_per_s\": "
        "{:.6f}}}{}\n",
        json_string(stage.name), stage.bytes, stage.begin, stage.seconds, rate(stage),
        i + 1 < summary.stages.size() ? "," : "");
  }
  return out + "  }\n}\n";
}

}  // namespace stage_model::report
