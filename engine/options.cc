#include "engine/options.h"

#include <fmt/format.h>
#include <limits.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "stage_model/units.h"

#ifndef STAGE_VERSION
#define STAGE_VERSION "unknown"
#endif

namespace stage_model {
namespace {

constexpr char kDescription[] =
    "Stages a model from an object store to the disk of every node: each byte is downloaded once,\n"
    "broadcast over MPI, written with O_DIRECT, verified, and published in one step.\n"
    "Runs as one rank per node (stage-launch, srun --mpi=pmix, mpirun), or on its own.";
constexpr char kFooter[] =
    "Examples:\n"
    "  stage-engine az://acct/models/llama/ /nvme/llama\n"
    "  mpirun --map-by ppr:1:node stage-engine az://acct/models/llama/ /nvme/llama\n"
    "  stage-engine --dry-run --include '*.safetensors' file:///lustre/models/x /nvme/x\n"
    "Sizes take KiB, MiB, GiB (1024) and kB, MB, GB (1000); rates Gbps, Mbps, GB/s; times s, m, "
    "h.\n"
    "Identity: AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, AZURE_STORAGE_CONNECTION_STRING, or "
    "none.\n"
    "Exit codes: 0 staged, 2 usage, 3 source or identity, 4 destination or space, 5 transfer,\n"
    "  6 fabric, 7 integrity, 8 stopped (cancel, deadline, peer lost).";

// Lets CLI11 keep the text and us the parsing, with our own message.
template <class T>
CLI::Option* add_parsed(CLI::App* app, const std::string& flag, T* target, const std::string& help,
                        Result<T> (*parse)(std::string_view), const std::string& type,
                        const std::string& shown) {
  auto* option = app->add_option_function<std::string>(
      flag,
      [=](const std::string& text) {
        auto value = parse(text);
        if (!value) throw CLI::ValidationError(flag, value.error().message);
        *target = *value;
      },
      help);
  option->type_name(type);
  if (!shown.empty()) option->default_str(shown);
  return option;
}

void read_file_list(Options* options) {
  std::ifstream file(options->file_list, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file)
    throw CLI::ValidationError("--filelist", fmt::format("cannot read {}", options->file_list));
  auto names = plan::parse_name_list(text.str());
  if (!names)
    throw CLI::ValidationError("--filelist",
                               fmt::format("{}: {}", options->file_list, names.error().message));
  options->filter.names = std::move(*names);
}

// A signature stays in the process's memory alone: `ps` and /proc/PID/cmdline show the argv area.
void blank_query(char* argument) {
  if (char* query = std::strchr(argument, '?')) std::memset(query, 0, std::strlen(query));
}

void add_what(CLI::App& app, Options& options) {
  const std::string group = "What is staged";
  app.add_option("SOURCE", options.source,
                 "az://ACCOUNT/CONTAINER/PREFIX/, its https URL, or file:///DIR/")
      ->required();
  app.add_option("DEST", options.destination, "directory that appears when everything is there")
      ->required();
  app.add_option("--include", options.filter.include,
                 "only names that match the glob (* matches / too); repeatable")
      ->group(group)
      ->type_name("GLOB");
  app.add_option("--exclude", options.filter.exclude, "not those; wins over --include; repeatable")
      ->group(group)
      ->type_name("GLOB");
  app.add_option("--filelist", options.file_list, "only the names in FILE, one a line")
      ->group(group)
      ->type_name("FILE");
  app.add_option("--save-filelist", options.save_file_list,
                 "write the names that are staged to FILE")
      ->group(group)
      ->type_name("FILE");
  const std::map<std::string, store::Compare> compare{{"etag", store::Compare::kEtag},
                                                      {"size", store::Compare::kSize},
                                                      {"none", store::Compare::kNone}};
  app.add_option("--compare", options.staging.compare,
                 "when a file here counts as current: etag (and size), size, none")
      ->group(group)
      ->type_name("HOW")
      ->transform(CLI::CheckedTransformer(compare, CLI::ignore_case))
      ->default_str("etag");
  const std::map<std::string, move::Verify> verify{{"none", move::Verify::kNone},
                                                   {"transfer", move::Verify::kTransfer},
                                                   {"store", move::Verify::kStore},
                                                   {"disk", move::Verify::kDisk}};
  app.add_option("--verify", options.move.verify,
                 "transfer: every chunk on every rank; store: also the store's hash of whole "
                 "files; disk: also what "
                 "the disk gives back")
      ->group(group)
      ->type_name("HOW")
      ->transform(CLI::CheckedTransformer(verify, CLI::ignore_case))
      ->default_str("transfer");
  app.add_flag("--dry-run", options.dry_run, "print the plan and its balance, move nothing")
      ->group(group);
}

void add_move(CLI::App& app, Options& options) {
  const std::string group = "How it moves (the defaults fit; explicit values win)";
  add_parsed(&app, "--chunk-size", &options.chunk_size,
             "the unit that is broadcast, 64 KiB to 1 GiB", parse_size, "SIZE",
             "by model and ranks")
      ->group(group);
  add_parsed(&app, "--memory", &options.memory, "for all chunk buffers of a rank", parse_size,
             "SIZE", "1/8 of the node's, at most 2 GiB")
      ->group(group);
  app.add_option("--buffers", options.buffers, "receive buffers, instead of by --memory")
      ->group(group)
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  app.add_option("--download-buffers", options.move.download_buffers,
                 "chunks downloaded or waiting for their turn")
      ->group(group)
      ->type_name("N")
      ->check(CLI::Range(1, 4096))
      ->default_str("by --memory");
  app.add_option("--pipeline", options.move.pipeline, "broadcasts in flight")
      ->group(group)
      ->type_name("N")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--lanes", options.move.lanes, "communicators that the broadcasts go round")
      ->group(group)
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--writers", options.staging.writers, "threads that write")
      ->group(group)
      ->type_name("N")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_flag("!--no-direct", options.staging.direct,
               "write through the page cache instead of O_DIRECT")
      ->group(group);
  app.add_flag("!--no-take-over", options.move.take_over,
               "an idle rank does not take the tail of a slow one's shard")
      ->group(group);
}

void add_source(CLI::App& app, Options& options) {
  const std::string group = "Downloading";
  app.add_option("--concurrency", options.transfer.concurrency, "GETs in flight on each rank")
      ->group(group)
      ->type_name("N")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_parsed(&app, "--block-size", &options.transfer.block_size, "bytes of one GET", parse_size,
             "SIZE", "8MiB")
      ->group(group);
  app.add_option("--download-ranks", options.download_ranks, "how many ranks download")
      ->group(group)
      ->type_name("N")
      ->check(CLI::Range(1, 65536))
      ->default_str("all");
  add_parsed(&app, "--max-bandwidth", &options.max_bandwidth, "from the source, whole cluster",
             parse_rate, "RATE", "")
      ->group(group);
  app.add_option("--max-retries", options.transfer.max_retries, "of one GET that makes no progress")
      ->group(group)
      ->type_name("N")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  add_parsed(&app, "--deadline", &options.deadline_s, "give up after this long", parse_duration,
             "TIME", "")
      ->group(group);
  add_parsed(&app, "--stall-timeout", &options.move.stall_timeout_s,
             "give up when nothing moves for this long", parse_duration, "TIME", "300s")
      ->group(group);
  add_parsed(&app, "--partial-keep", &options.staging.partial_keep_s,
             "partial data of stopped runs older than this go", parse_duration, "TIME", "1d")
      ->group(group);
}

void add_report(CLI::App& app, Options& options) {
  const std::string group = "Reporting";
  app.add_option("--json", options.json, "write the report to FILE (rank 0)")
      ->group(group)
      ->type_name("FILE");
  app.add_flag_callback(
         "--progress", [&options] { options.progress = true; },
         "a bar on stderr even if it is no terminal")
      ->group(group);
  app.add_flag_callback(
         "--no-progress", [&options] { options.progress = false; }, "no bar")
      ->group(group);
}

void check_limits(Options& options) {
  if (options.chunk_size != 0 &&
      (options.chunk_size < plan::kMinChunkSize || options.chunk_size > plan::kMaxChunkSize)) {
    throw CLI::ValidationError(
        "--chunk-size", fmt::format("{} is not between 64KiB and 1GiB (one broadcast counts its "
                                    "bytes in an int)",
                                    format_size(options.chunk_size)));
  }
  options.chunk_size = options.chunk_size / plan::kAlignment * plan::kAlignment;
  if (options.transfer.block_size < (64u << 10) ||
      options.transfer.block_size > plan::kMaxChunkSize) {
    throw CLI::ValidationError("--block-size", "must be between 64KiB and 1GiB");
  }
  if (options.destination.empty() || options.destination[0] != '/') {
    options.destination =
        std::filesystem::absolute(options.destination).lexically_normal().string();
  }
  while (options.destination.size() > 1 && options.destination.back() == '/')
    options.destination.pop_back();
}

}  // namespace

Result<Options> parse_options(int argc, char** argv) {
  Options options;
  options.move.download_buffers = 0;
  CLI::App app(kDescription, "stage-engine");
  app.footer(kFooter);
  app.get_formatter()->column_width(34);
  app.set_version_flag("--version", std::string("stage-engine " STAGE_VERSION));
  app.option_defaults()->always_capture_default(false);
  add_what(app, options);
  add_move(app, options);
  add_source(app, options);
  add_report(app, options);
  try {
    app.parse(argc, argv);
    for (int i = 1; i < argc; ++i) blank_query(argv[i]);
    check_limits(options);
    if (!options.file_list.empty()) read_file_list(&options);
  } catch (const CLI::Success& done) {
    std::exit(app.exit(done));
  } catch (const CLI::ParseError& error) {
    return fail(ExitCode::kUsage, fmt::format("{} (stage-engine --help)", error.what()));
  }
  return options;
}

}  // namespace stage_model
