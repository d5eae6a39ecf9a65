// Run: what the others and people are told when everything is in place.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "engine/doubts.h"
#include "engine/kept_list.h"
#include "engine/run.h"

namespace stage_model {
namespace {
// Of the counts below.
constexpr std::size_t kRequests = 0;
constexpr std::size_t kThrottled = 2;
}  // namespace

// What each node did at the source, and the sums.
void Run::count_nodes(report::Summary* summary) {
  const source::Counters& c = stats_.source;
  const std::vector<std::uint64_t> mine{c.requests,       c.bytes,         c.retries_throttle,
                                        c.retries_server, c.retries_reset, c.retries_stall,
                                        c.retries_short};
  summary->per_node = {"requests",      "bytes_received", "retries_throttle", "retries_server",
                       "retries_reset", "retries_stall",  "retries_short"};
  const auto all = fabric_.gather_all(mine, "the report");
  std::vector<std::uint64_t> sums(mine.size());
  for (int rank = 0; rank < fabric_.size(); ++rank) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank * mine.size());
    summary->nodes.push_back({fabric_.node(rank), {first, first + mine.size()}});
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += first[i];
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    summary->counters.emplace_back(summary->per_node[i], static_cast<double>(sums[i]));
  }
}

report::Summary Run::summarize() {
  // Over all ranks: earliest start, latest end, sums.
  std::vector<report::StageSpan*> spans{&list_span_,   &plan_span_,   &stats_.download,
                                        &stats_.bcast, &stats_.write, &stats_.verify,
                                        &verify_span_, &publish_span_};
  std::vector<double> first;
  std::vector<double> last;
  first.reserve(spans.size());
  last.reserve(spans.size());
  for (const auto* span : spans) first.push_back(span->begin);
  for (const auto* span : spans) last.push_back(span->end);
  std::vector<double> sums{static_cast<double>(stats_.download.bytes),
                           static_cast<double>(stats_.write.bytes),
                           static_cast<double>(stats_.verify.bytes)};
  std::vector<double> largest{static_cast<double>(stats_.bcast.bytes)};
  fabric_.reduce(first, MPI_MIN, "the report");
  fabric_.reduce(last, MPI_MAX, "the report");
  fabric_.reduce(sums, MPI_SUM, "the report");
  fabric_.reduce(largest, MPI_MAX, "the report");

  report::Summary summary;
  summary.source = listing_.source;
  summary.destination = options_.destination;
  summary.transport = fabric_.size() > 1 ? transport_ : "none (one rank)";
  summary.broadcast = fabric_.size() > 1 ? broadcast_.text : "";
  summary.identity = source_->identity();
  summary.ranks = fabric_.size();
  summary.objects = listing_.objects.size();
  count_nodes(&summary);
  for (const plan::Object& object : listing_.objects) summary.model_bytes += object.size;
  auto add = [&](const char* name, std::size_t at, double bytes, std::string note) {
    const bool ran = last[at] > 0;
    const double begin = ran ? std::min(first[at], last[at]) : 0;
    summary.stages.push_back({name, static_cast<std::uint64_t>(bytes), begin,
                              ran ? last[at] - begin : 0, std::move(note)});
  };
  double retries = 0;
  for (const auto& [name, number] : summary.counters) {
    if (name.starts_with("retries_")) retries += number;
  }
  add("list", 0, 0, fmt::format("{} objects", summary.objects));
  add("plan", 1, static_cast<double>(plan_span_.bytes),
      fmt::format("{} chunks", layout_.chunks.size()));
  add("download", 2, sums[0],
      fmt::format("{:.0f} requests, {:.0f} retries{}", summary.counters[kRequests].second, retries,
                  report::throttled(summary.nodes, kThrottled)));
  add("bcast", 3, largest[0],
      summary.ranks > 1
          ? fmt::format("{} ranks, {}; {}", summary.ranks, summary.transport, summary.broadcast)
          : "one rank");
  add("write", 4, sums[1], staging_->direct() ? "all ranks, direct" : "all ranks, buffered");
  first[5] = std::min(first[5], first[6]);
  last[5] = std::max(last[5], last[6]);
  add("verify", 5, sums[2], "all ranks");
  add("publish", 7, 0, "");
  summary.stages.back().line = false;
  summary.stages.push_back({"total", summary.model_bytes, 0, clock_.now(), ""});
  const std::vector<std::pair<std::string, double>> more = {
      {"taken_over", static_cast<double>(stats_.taken_over)},
      {"chunks", static_cast<double>(layout_.chunks.size())},
      {"chunk_size", static_cast<double>(options_.chunk_size)},
      {"receive_buffers", static_cast<double>(tuning_.receive_buffers)},
      {"download_buffers", static_cast<double>(tuning_.download_buffers)},
      {"pipeline", static_cast<double>(tuning_.pipeline)},
      {"per_root", static_cast<double>(tuning_.per_root)},
      {"concurrency", static_cast<double>(tuning_.concurrency)},
      {"http_threads", static_cast<double>(tuning_.http_threads)},
      {"writers", static_cast<double>(staging_->writers())}};
  summary.counters.insert(summary.counters.end(), more.begin(), more.end());
  return summary;
}

void Run::write_trace() {
  // Both clocks tick alike (steady_clock, MPI_Wtime); where each began differs by rank.
  // The offset first: it takes a while, in which the clocks must not be read one by one.
  const double offset = fabric_.clock_offset();
  const double zero = MPI_Wtime() + offset - clock_.now();
  std::vector<double> earliest{zero};
  fabric_.reduce(earliest, MPI_MIN, "the trace");
  const auto events = fabric_.gather_text(
      trace_->events(fabric_.rank(), fabric_.node(), zero - earliest[0]), "the trace");
  if (fabric_.rank() != 0) return;
  std::ofstream file(options_.trace, std::ios::trunc);
  file << report::trace_file(events);
  file.flush();
  if (!file) fmt::print(stderr, "stage-engine: --trace: cannot write {}\n", options_.trace);
}

std::vector<std::string> Run::doubts() const {
  return find_doubts(listing_, [&](std::uint32_t i) -> std::optional<std::string> {
    const std::uint64_t size = listing_.objects[i].size;
    if (size == 0) return std::string();
    auto buffer = transfer::Buffers::make(1, size);
    if (!buffer) return std::nullopt;
    std::byte* memory = buffer->at(0);
    if (!staging_->read(i, 0, size, memory)) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(memory), size);
  });
}

void Run::report() {
  if (trace_) write_trace();
  const report::Summary summary = summarize();
  const std::string lines = report::text(summary);
  const std::string json = report::json(summary);
  std::string warnings;
  for (const std::string& doubt : doubts())
    warnings += fmt::format("stage-engine: warning: {}\n", doubt);
  // A report that cannot be saved does not make a staged model less staged.
  (void)staging_->save("report.json", json);
  (void)staging_->save("log", fmt::format("staged {} on {}\n{}{}", listing_.source, fabric_.node(),
                                          lines, warnings));
  // What has a lineage has revisions, and the list of one never changes.
  if (!listing_.lineage.empty())
    (void)staging_->save(kKeptList, write_kept_list(listing_, options_.filter));
  status_.staged(options_.destination);
  progress_.reset();
  if (fabric_.rank() != 0) return;
  fmt::print(stderr, "{}", warnings);
  fmt::print("{}", lines);
  std::fflush(stdout);
  if (options_.json.empty()) return;
  std::ofstream file(options_.json, std::ios::trunc);
  file << json;
  file.flush();
  if (!file) fmt::print(stderr, "stage-engine: --json: cannot write {}\n", options_.json);
}

}  // namespace stage_model
