#include "engine/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/http/redact.h"
#include "engine/plan/plan.h"
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
    "Identity: by each store's usual variables and logins; stage-engine --whoami SOURCE says "
    "which.\n"
    "Exit codes: 0 staged, 2 usage, 3 source or identity, 4 destination or space, 5 transfer,\n"
    "  6 fabric, 7 integrity, 8 stopped (cancel, deadline, peer lost).";

// A chunk or a block: what one MPI call or one GET carries.
Result<std::uint64_t> parse_chunk_size(std::string_view text) {
  auto size = parse_size(text);
  if (!size) return size;
  if (*size < plan::kMinChunkSize || *size > plan::kMaxChunkSize) {
    return fail(
        ExitCode::kUsage,
        fmt::format("'{}' is not between 64KiB and 1GiB (one MPI call counts its bytes in an int)",
                    text));
  }
  return *size / plan::kAlignment * plan::kAlignment;
}

// One option in the help: "--flag TYPE", its group, its default behind the help text.
CLI::Option* shape(CLI::Option* option, const std::string& group, const std::string& type,
                   const std::string& otherwise = "") {
  option->group(group)->option_text(type);
  if (!otherwise.empty()) {
    option->description(fmt::format("{} [{}]", option->get_description(), otherwise));
  }
  return option;
}

// Lets CLI11 keep the text and us the parsing, with our own message.
template <class T>
CLI::Option* add_parsed(CLI::App& app, const std::string& flag, T* target, const std::string& help,
                        Result<T> (*parse)(std::string_view)) {
  return app.add_option_function<std::string>(
      flag,
      [=](const std::string& text) {
        auto value = parse(text);
        if (!value) throw CLI::ValidationError(flag, value.error().message);
        *target = *value;
      },
      help);
}

template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, T* target, const std::string& help,
                        const std::vector<std::pair<std::string, T>>& choices) {
  return app.add_option_function<std::string>(
      flag,
      [=](const std::string& text) {
        std::string known;
        for (const auto& [name, value] : choices) {
          if (name == text) {
            *target = value;
            return;
          }
          known += (known.empty() ? "" : ", ") + name;
        }
        throw CLI::ValidationError(flag, fmt::format("'{}' is not one of {}", text, known));
      },
      help);
}

template <class T>
CLI::Option* add_count(CLI::App& app, const std::string& flag, T* target, const std::string& help,
                       T least, T most) {
  return app.add_option(flag, *target, help)->check(CLI::Range(least, most));
}

// Repeatable; takes one value each time, or it would swallow SOURCE and DEST.
CLI::Option* add_glob(CLI::App& app, const std::string& flag, std::vector<std::string>* target,
                      const std::string& help) {
  return app.add_option(flag, *target, help)->allow_extra_args(false)->take_all();
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
                 "az://ACCOUNT/CONTAINER/PREFIX/, s3://BUCKET/PREFIX/, hf://ORG/NAME[@REVISION], "
                 "https://HOST/FILE or LIST.manifest, file:///DIR/, ...; without the slash at the "
                 "end: the one object of that name, else the prefix")
      ->required()
      ->option_text(" ");
  app.add_option("DEST", options.destination, "directory that appears when everything is there")
      ->option_text(" ");
  shape(add_glob(app, "--include", &options.filter.include,
                 "only names that match; * matches / too; repeatable"),
        group, "GLOB");
  shape(add_glob(app, "--exclude", &options.filter.exclude,
                 "not these; wins over --include; repeatable"),
        group, "GLOB");
  shape(app.add_option("--filelist", options.file_list, "only the names in FILE, one a line"),
        group, "FILE");
  shape(app.add_option("--save-filelist", options.save_file_list,
                       "write the names that are staged to FILE"),
        group, "FILE");
  shape(add_choice<store::Compare>(
            app, "--compare", &options.staging.compare,
            "when a file that is here counts as current: etag (and size), size, none",
            {{"etag", store::Compare::kEtag},
             {"size", store::Compare::kSize},
             {"none", store::Compare::kNone}}),
        group, "HOW", "etag");
  shape(add_choice<transfer::Verify>(
            app, "--verify", &options.move.verify,
            "transfer: each chunk on each rank; store: also whole files by the store's hash; disk: "
            "both, and what each node's disk gives back; none",
            {{"none", transfer::Verify::kNone},
             {"transfer", transfer::Verify::kTransfer},
             {"store", transfer::Verify::kStore},
             {"disk", transfer::Verify::kDisk}}),
        group, "HOW", "transfer");
  app.add_flag("--whoami", options.whoami,
               "say which identity SOURCE would be read with and why not others, and exit (0, or 3 "
               "if there is none that works)")
      ->group(group);
  app.add_flag("--dry-run", options.dry_run, "print the plan and its balance, move nothing")
      ->group(group);
}

void add_move(CLI::App& app, Options& options) {
  const std::string group = "How it moves (the defaults fit; what is given wins)";
  shape(add_parsed(app, "--chunk-size", &options.chunk_size,
                   "the unit that is broadcast, 64KiB to 1GiB", parse_chunk_size),
        group, "SIZE", "by model and ranks");
  shape(add_parsed(app, "--memory", &options.tuning.memory, "for all chunk buffers of a rank",
                   parse_size),
        group, "SIZE", "1/8 of the node's, at most 2GiB");
  shape(add_count<std::size_t>(app, "--buffers", &options.tuning.receive_buffers, "receive buffers",
                               1, 4096),
        group, "N", "by --memory");
  shape(add_count<std::size_t>(app, "--download-buffers", &options.tuning.download_buffers,
                               "chunks being downloaded or waiting for their turn", 1, 4096),
        group, "N", "by --memory");
  shape(add_count<std::size_t>(app, "--pipeline", &options.tuning.pipeline, "broadcasts in flight",
                               1, 256),
        group, "N", "by chunk, ranks and fabric, 8 to 64");
  shape(add_count<std::size_t>(app, "--per-root", &options.tuning.per_root,
                               "of them, those that one rank sends", 1, 256),
        group, "N", "by chunk, ranks and fabric, 1 to 64");
  shape(add_count<int>(app, "--lanes", &options.move.lanes, "communicators that they go round", 1,
                       64),
        group, "N", "8");
  shape(
      add_count<unsigned>(app, "--writers", &options.staging.writers, "threads that write", 1, 256),
      group, "N", "4, or 8 on fast disks");
  shape(
      add_choice<transfer::Schedule>(
          app, "--schedule", &options.move.schedule,
          "sequenced: all at once; staged: download all, then broadcast (for comparison)",
          {{"sequenced", transfer::Schedule::kSequenced}, {"staged", transfer::Schedule::kStaged}}),
      group, "HOW", "sequenced");
  app.add_flag_callback(
         "--no-direct", [&options] { options.staging.direct = false; },
         "write through the page cache instead of O_DIRECT")
      ->group(group);
  app.add_flag_callback(
         "--no-take-over", [&options] { options.move.scheduler.take_over = false; },
         "an idle rank does not take the tail of a slow one's shard")
      ->group(group);
}

void add_source(CLI::App& app, Options& options) {
  const std::string group = "Downloading";
  shape(add_count<unsigned>(app, "--concurrency", &options.tuning.concurrency,
                            "GETs in flight on each rank", 1, 1024),
        group, "N", "by ranks, 16 to 64");
  shape(add_count<unsigned>(app, "--http-threads", &options.tuning.http_threads,
                            "threads that receive and decrypt them, on each rank", 1, 64),
        group, "N", "by CPUs, 1 to 8");
  shape(add_parsed(app, "--block-size", &options.transfer.block_size,
                   "bytes of one GET, 64KiB to 1GiB", parse_chunk_size),
        group, "SIZE", "8MiB");
  shape(add_count<std::uint32_t>(app, "--download-ranks", &options.download_ranks,
                                 "how many ranks download", 1, 65536),
        group, "N", "all, at most 256");
  shape(add_parsed(app, "--max-bandwidth", &options.max_bandwidth,
                   "from the source, by the whole cluster", parse_rate),
        group, "RATE");
  shape(add_count<unsigned>(app, "--max-retries", &options.transfer.max_retries,
                            "of a GET that makes no progress", 0, 1000),
        group, "N", "8");
  shape(
      add_parsed(app, "--deadline", &options.deadline_s, "give up after this long", parse_duration),
      group, "TIME");
  shape(add_parsed(app, "--stall-timeout", &options.move.scheduler.stall_timeout_s,
                   "give up when nothing moved for this long", parse_duration),
        group, "TIME", "300s");
  shape(add_parsed(app, "--partial-keep", &options.staging.partial_keep_s,
                   "how long what a stopped run left may be taken up again; 0: not at all",
                   parse_duration),
        group, "TIME", "1d");
}

void add_report(CLI::App& app, Options& options) {
  const std::string group = "Reporting";
  shape(app.add_option("--json", options.json, "write the report to FILE (rank 0)"), group, "FILE");
  shape(app.add_option(
            "--trace", options.trace,
            "write every chunk's life on every rank to FILE (rank 0), for ui.perfetto.dev"),
        group, "FILE");
  app.add_flag_callback(
         "--progress", [&options] { options.progress = true; },
         "a bar on stderr even where that is no terminal")
      ->group(group);
  app.add_flag_callback(
         "--no-progress", [&options] { options.progress = false; }, "no bar")
      ->group(group);
}

bool lies_in(const std::filesystem::path& inner, const std::filesystem::path& outer) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

// A model inside the directory that is staged would be a part of what the next run stages.
void check_apart(const Options& options) {
  constexpr std::string_view kFile = "file://";
  if (!options.source.starts_with(kFile)) return;
  std::string text = options.source.substr(kFile.size());
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  std::error_code error;
  const auto source = std::filesystem::weakly_canonical(text, error);
  const auto destination = std::filesystem::weakly_canonical(options.destination, error);
  if (!error && (lies_in(destination, source) || lies_in(source, destination))) {
    throw CLI::ValidationError("DEST", "lies in SOURCE, or SOURCE in it: choose a place beside it");
  }
}

void check_destination(Options& options) {
  if (options.destination.empty() || options.destination[0] != '/') {
    options.destination =
        std::filesystem::absolute(options.destination).lexically_normal().string();
  }
  while (options.destination.size() > 1 && options.destination.back() == '/')
    options.destination.pop_back();
  check_apart(options);
}

}  // namespace

Result<Options> parse_options(int argc, char** argv) {
  Options options;
  CLI::App app(kDescription, "stage-engine");
  app.footer(kFooter);
  app.get_formatter()->column_width(34);
  // What stands later wins: a run's own options come after those of the site's configuration.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", std::string("stage-engine " STAGE_VERSION));
  add_what(app, options);
  add_move(app, options);
  add_source(app, options);
  add_report(app, options);
  try {
    app.parse(argc, argv);
    for (int i = 1; i < argc; ++i) blank_query(argv[i]);
    if (options.destination.empty() && !options.whoami) throw CLI::RequiredError("DEST");
    if (!options.whoami) check_destination(options);
    if (!options.file_list.empty()) read_file_list(&options);
  } catch (const CLI::Success& done) {
    std::exit(app.exit(done));
  } catch (const CLI::ParseError& error) {
    // It repeats the argument that it cannot place: perhaps a URL with a signature.
    return fail(ExitCode::kUsage,
                fmt::format("{} (stage-engine --help)", http::redact(error.what())));
  }
  return options;
}

}  // namespace stage_model
