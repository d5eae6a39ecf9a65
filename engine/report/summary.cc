#include "engine/report/summary.h"

#include <fmt/format.h>

#include <algorithm>

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

std::string throttled(const std::vector<NodeLine>& nodes, std::size_t index) {
  std::uint64_t sum = 0;
  for (const NodeLine& node : nodes) sum += node.counts[index];
  if (sum == 0) return {};
  const auto most = std::max_element(nodes.begin(), nodes.end(), [index](auto& a, auto& b) {
    return a.counts[index] < b.counts[index];
  });
  return fmt::format("; throttled {} times, most on {} ({})", sum, most->node, most->counts[index]);
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
  out += fmt::format("  \"transport\": {},\n  \"broadcast\": {},\n  \"identity\": {},\n",
                     json_string(summary.transport), json_string(summary.broadcast),
                     json_string(summary.identity));
  out += fmt::format("  \"ranks\": {},\n  \"objects\": {},\n  \"model_bytes\": {},\n",
                     summary.ranks, summary.objects, summary.model_bytes);
  for (const auto& [name, number] : summary.counters)
    out += fmt::format("  {}: {},\n", json_string(name), number);
  out += "  \"nodes\": [\n";
  for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
    const NodeLine& node = summary.nodes[i];
    out += fmt::format("    {{\"node\": {}", json_string(node.node));
    for (std::size_t c = 0; c < node.counts.size(); ++c) {
      out += fmt::format(", {}: {}", json_string(summary.per_node[c]), node.counts[c]);
    }
    out += i + 1 < summary.nodes.size() ? "},\n" : "}\n";
  }
  out += "  ],\n  \"stages\": {\n";
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
