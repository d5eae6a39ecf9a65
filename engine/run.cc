#include "engine/run.h"

#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <future>

#include "engine/kept_list.h"
#include "engine/mpi/devices.h"
#include "engine/mpi/environment.h"
#include "engine/plan/names.h"
#include "engine/plan/pack.h"
#include "engine/plan/sizes.h"
#include "engine/signals.h"
#include "engine/transfer/digests.h"
#include "stage_model/units.h"

namespace stage_model {

Run::Run(Options options, source::Variables variables, mpi::Fabric& fabric,
         report::StatusChannel& status, std::string transport)
    : options_(std::move(options)),
      variables_(std::move(variables)),
      fabric_(fabric),
      status_(status),
      transport_(std::move(transport)),
      broadcast_(mpi::active_broadcast()) {
  progress_.emplace(fabric_.rank() == 0 && !options_.dry_run &&
                    options_.progress.value_or(isatty(STDERR_FILENO) == 1));
  options_.transfer.deadline_s = options_.deadline_s;
  if (!options_.trace.empty()) trace_.emplace();
}

Run::~Run() = default;

Status Run::in_background(const char* what, const std::function<Status()>& work) {
  auto result = std::async(std::launch::async, work);
  fabric_.wait(
      [&] { return result.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }, what);
  return result.get();
}

// ---- list

Status Run::list_here() {
  if (const auto text = store::read_saved(options_.destination, kKeptList)) {
    if (auto kept = read_kept_list(*text, options_.filter)) source_->recall(*kept);
  }
  auto found = source_->list();
  if (!found) return tl::unexpected(found.error());
  listing_ = std::move(*found);
  if (auto ok = plan::apply_filter(options_.filter, listing_); !ok) return ok;
  if (auto ok = plan::check_names(listing_, options_.destination); !ok) return ok;
  if (auto ok = plan::check_sizes(listing_); !ok) return ok;
  if (options_.save_file_list.empty()) return {};
  std::ofstream file(options_.save_file_list, std::ios::binary | std::ios::trunc);
  file << plan::write_name_list(listing_);
  file.flush();
  if (!file)
    return fail(ExitCode::kUsage,
                fmt::format("--save-filelist: cannot write {}", options_.save_file_list));
  return {};
}

Run::Outcome Run::list() {
  status_.stage("list");
  list_span_.start(clock_.now());
  auto opened = source::open_source(options_.source, variables_, options_.transfer);
  Status mine;
  if (opened) {
    source_ = std::move(*opened);
  } else {
    mine = tl::unexpected(opened.error());
  }
  if (auto ok = fabric_.agree(mine, "the sources"); !ok) return ok;
  if (fabric_.rank() == 0)
    mine = in_background("the list of objects", [this] { return list_here(); });
  if (auto ok = fabric_.agree(mine, "the list of objects"); !ok) return ok;
  std::string bytes = fabric_.rank() == 0 ? plan::pack(listing_) : std::string();
  fabric_.broadcast(bytes, "the list of objects");
  if (fabric_.rank() != 0) {
    auto listing = plan::unpack(bytes);
    if (listing) listing_ = std::move(*listing);
    mine = listing ? source_->adopt(listing_.resolved) : Status(tl::unexpected(listing.error()));
  }
  // A token that rank 0 got is everybody's: beside the list, which is stored, and nowhere else.
  std::string secret = fabric_.rank() == 0 ? source_->handover() : std::string();
  fabric_.broadcast(secret, "the identity");
  if (mine && fabric_.rank() != 0) mine = source_->accept(secret);
  explicit_bzero(secret.data(), secret.size());
  list_span_.stop(clock_.now());
  return fabric_.agree(mine, "the list of objects");
}

// ---- presence

namespace {

std::vector<plan::Bits> split(const std::vector<std::uint64_t>& words, std::size_t ranks,
                              std::size_t size) {
  std::vector<plan::Bits> all(ranks, plan::Bits(size));
  const std::size_t each = all.empty() ? 0 : all[0].words().size();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(rank * each), each,
                all[rank].words().begin());
  }
  return all;
}

}  // namespace

Status Run::presence_here() {
  auto staging = store::open_staging(options_.destination, options_.staging);
  if (!staging) return tl::unexpected(staging.error());
  staging_ = std::move(*staging);
  auto presence = staging_->presence(listing_);
  if (!presence) return tl::unexpected(presence.error());
  presence_ = std::move(*presence);
  presence_.held.resize(listing_.objects.size());
  presence_.partial.resize(listing_.objects.size());
  if (presence_.published) presence_.held.assign(listing_.objects.size(), true);
  return {};
}

Run::Outcome Run::presence() {
  status_.stage("presence");
  plan_span_.start(clock_.now());
  auto outcome =
      fabric_.agree(in_background("what this node holds", [this] { return presence_here(); }),
                    "what the nodes hold");
  if (outcome && options_.staging.compare == store::Compare::kSize) drop_other_versions();
  return outcome;
}

// A version that the store no longer lists is trusted where every node has one. Where a node lacks
// the object all get the listed one: the holders may have different versions, and what they sent
// would be mixed in one file, under an ETag that is none of theirs.
void Run::drop_other_versions() {
  const std::size_t objects = listing_.objects.size();
  plan::Bits mine(objects);
  for (std::size_t i = 0; i < objects; ++i) {
    if (presence_.held[i]) mine.set(i);
  }
  const auto held =
      split(fabric_.gather_all(mine.words(), "what the nodes hold"), fabric_.size(), objects);
  for (std::size_t i = 0; i < objects; ++i) {
    if (!presence_.other_version[i] ||
        std::all_of(held.begin(), held.end(), [i](const plan::Bits& rank) { return rank.test(i); }))
      continue;
    staging_->forget(static_cast<std::uint32_t>(i));
    presence_.held[i] = false;
    presence_.published = false;
  }
}

// ---- space

std::uint64_t Run::needed_bytes() const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < listing_.objects.size(); ++i) {
    if (!presence_.held[i]) bytes += listing_.objects[i].size;
  }
  return bytes;
}

Run::Outcome Run::space() {
  Status mine;
  if (!presence_.published) {
    const auto files = std::count(presence_.held.begin(), presence_.held.end(), false);
    mine = in_background("the free space", [&] {
      return staging_->check_space(needed_bytes(), static_cast<std::uint64_t>(files));
    });
  }
  return fabric_.agree(mine, "the free space");
}

// ---- plan

void Run::choose_sizes() {
  std::uint64_t total = 0;
  for (const plan::Object& object : listing_.objects) total += object.size;
  if (options_.chunk_size != 0) return;
  const std::uint64_t best =
      plan::default_chunk_size(total, std::min<std::size_t>(fabric_.size(), plan::kMaxDownloaders));
  std::vector<double> longest{static_cast<double>(presence_.longest_piece)};
  fabric_.reduce(longest, MPI_MAX, "what the nodes hold");
  options_.chunk_size =
      plan::chunk_size_as_before(best, static_cast<std::uint64_t>(longest.front()));
}

Run::Outcome Run::plan() {
  status_.stage("plan");
  const std::size_t ranks = fabric_.size();
  choose_sizes();
  plan::Bits objects(listing_.objects.size() + 1);  // the last: can this rank read the source
  for (std::size_t i = 0; i < listing_.objects.size(); ++i) {
    if (presence_.held[i]) objects.set(i);
  }
  if (source_->reachable()) objects.set(listing_.objects.size());
  const auto held = split(fabric_.gather_all(objects.words(), "what the nodes hold"), ranks,
                          listing_.objects.size() + 1);
  layout_ = plan::lay_out(listing_, plan::group_by_holders(held, listing_.objects.size()),
                          options_.chunk_size);
  std::vector<std::uint32_t> able;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (held[rank].test(listing_.objects.size())) able.push_back(rank);
  }
  downloaders_ = plan::choose_downloaders(
      able, options_.download_ranks != 0 ? options_.download_ranks : plan::kMaxDownloaders);
  held_ = plan::Bits(layout_.chunks.size());
  for (std::size_t c = 0; c < layout_.chunks.size(); ++c) {
    const plan::Chunk& chunk = layout_.chunks[c];
    bool all = true;
    for (std::uint32_t i = 0; i < chunk.extent_count && all; ++i) {
      const plan::Extent& extent = layout_.extents[chunk.first_extent + i];
      all = presence_.held[extent.object] ||
            store::find_extent(presence_.partial[extent.object], extent.offset, extent.length) !=
                nullptr;
    }
    if (all) held_.set(c);
  }
  const auto holders =
      split(fabric_.gather_all(held_.words(), "what the nodes hold"), ranks, layout_.chunks.size());
  assignment_ = plan::assign(layout_, holders, downloaders_, ranks);
  plan_span_.stop(clock_.now(), plan::balance(listing_, layout_, assignment_).download_bytes);
  return {};
}

void Run::print_plan() const {
  if (fabric_.rank() != 0) return;
  const plan::Balance sum = plan::balance(listing_, layout_, assignment_);
  fmt::print("{}: {} objects, {}\n", listing_.source, listing_.objects.size(),
             format_size(sum.total_bytes));
  fmt::print("{} chunks of up to {}; {} to download, {} held by some nodes, the rest held by all\n",
             layout_.chunks.size(), format_size(options_.chunk_size),
             format_size(sum.download_bytes), format_size(sum.resend_bytes));
  for (int rank = 0; rank < fabric_.size(); ++rank) {
    fmt::print("  rank {:4} {:20} downloads {:10} in {:5} chunks, resends {} chunks\n", rank,
               fabric_.node(rank), format_size(assignment_.shard_bytes[rank]),
               assignment_.shards[rank].size(), assignment_.resends[rank].size());
  }
  if (sum.shard_max > 0) {
    const double mean =
        static_cast<double>(sum.download_bytes) / static_cast<double>(downloaders_.size());
    fmt::print("balance: largest shard is {:.3f} of the mean\n",
               static_cast<double>(sum.shard_max) / mean);
  }
}

// ---- move

std::uint64_t Run::longest_chunk() const {
  std::uint64_t longest = 0;
  for (const plan::Chunk& chunk : layout_.chunks) longest = std::max(longest, chunk.length);
  return longest;
}

// Of one rank that downloads.
double Run::max_bandwidth() const {
  return options_.max_bandwidth /
         static_cast<double>(std::max<std::size_t>(downloaders_.size(), 1));
}

Situation Run::situation() {
  struct sysinfo info {};
  sysinfo(&info);
  Situation situation;
  situation.chunk = longest_chunk();
  situation.ranks = static_cast<std::size_t>(fabric_.size());
  situation.downloaders = downloaders_.size();
  situation.segment = broadcast_.segment;
  situation.node_memory = std::uint64_t{info.totalram} * info.mem_unit;
  situation.cpus = mpi::own_cpus();
  situation.max_bandwidth = max_bandwidth();
  // Nothing to move, nothing to find out.
  const plan::Balance balance = plan::balance(listing_, layout_, assignment_);
  if (balance.download_bytes + balance.resend_bytes > 0) situation.fabric = mpi::probe(fabric_);
  if (balance.download_bytes == 0) {
    situation.resenders = static_cast<std::size_t>(
        std::count_if(assignment_.resends.begin(), assignment_.resends.end(),
                      [](const auto& chunks) { return !chunks.empty(); }));
  }
  return situation;
}

void Run::print_tuning(const Situation& situation) {
  // 0 where nothing is to be written, or the disk was not looked at.
  constexpr double kFastest = 1e15;
  const double speed = staging_->disk_speed();
  std::vector<double> slowest{speed > 0 ? speed : kFastest};
  fabric_.reduce(slowest, MPI_MIN, "the probe of the disks");
  std::vector<double> writers{presence_.published ? 0.0 : static_cast<double>(staging_->writers())};
  fabric_.reduce(writers, MPI_MAX, "the probe of the disks");
  if (fabric_.rank() != 0 || writers[0] == 0) return;  // all have it
  fmt::print("[tune] {}\n", describe(tuning_, situation, static_cast<unsigned>(writers[0]),
                                     slowest[0] < kFastest ? slowest[0] : 0));
  std::fflush(stdout);
}

Status Run::tick(std::uint64_t done) {
  status_.alive(done, own_needed_);
  progress_->update(done, own_needed_);
  return stop_requested();
}

Run::Outcome Run::move() {
  status_.stage("move");
  own_needed_ = 0;
  for (std::size_t c = 0; c < layout_.chunks.size(); ++c) {
    if (!held_.test(c)) own_needed_ += layout_.chunks[c].bytes;
  }
  const auto me = static_cast<std::uint32_t>(fabric_.rank());
  const bool downloads =
      std::find(downloaders_.begin(), downloaders_.end(), me) != downloaders_.end();
  const Situation situation = this->situation();
  tuning_ = choose(options_.tuning, situation);
  Status mine = in_background("the files of this node", [this] { return staging_->prepare(); });
  std::unique_ptr<source::Fetcher> fetcher;
  if (mine && downloads) {
    source::TransferOptions transfer = options_.transfer;
    transfer.concurrency = tuning_.concurrency;
    transfer.http_threads = tuning_.http_threads;
    transfer.max_bandwidth = max_bandwidth();
    auto made = source_->fetcher(transfer);
    if (made)
      fetcher = std::move(*made);
    else
      mine = tl::unexpected(made.error());
  }
  if (auto ok = fabric_.agree(mine, "the files of the nodes"); !ok) return ok;
  print_tuning(situation);
  transfer::Options options = options_.move;
  options.scheduler.chunk_size = longest_chunk();
  options.scheduler.receive_buffers = tuning_.receive_buffers;
  options.scheduler.download_buffers = tuning_.download_buffers;
  options.scheduler.pipeline = tuning_.pipeline;
  options.scheduler.per_root = tuning_.per_root;
  options.scheduler.downloading = tuning_.concurrency;
  transfer::Driver driver({fabric_, *staging_, clock_, trace_ ? &*trace_ : nullptr},
                          {listing_, layout_, assignment_, held_, downloads, !presence_.published},
                          std::move(fetcher), options,
                          [this](std::uint64_t done) { return tick(done); });
  auto stats = driver.run();
  if (!stats) return tl::unexpected(stats.error());
  stats_ = *stats;
  digests_ = driver.digests();
  return {};
}

// ---- verify

// Each file with a hash of its store is read back by one rank.
Status Run::verify_store() {
  constexpr std::uint64_t kPiece = 16 << 20;
  auto buffer = transfer::Buffers::make(1, kPiece);
  if (!buffer) return tl::unexpected(buffer.error());
  std::byte* memory = buffer->at(0);
  for (std::size_t i = fabric_.rank(); i < listing_.objects.size(); i += fabric_.size()) {
    const plan::Object& object = listing_.objects[i];
    const auto hasher = transfer::make_store_hasher(object);
    if (hasher == nullptr || presence_.other_version[i]) continue;  // that version had another hash
    for (std::uint64_t at = 0; at < object.size; at += kPiece) {
      const std::uint64_t length = std::min(kPiece, object.size - at);
      if (auto ok = staging_->read(static_cast<std::uint32_t>(i), at, length, memory); !ok)
        return ok;
      hasher->update(memory, length);
      if (auto ok = stop_requested(); !ok) return ok;
    }
    if (hasher->finish() != object.hash.bytes)
      return tl::unexpected(transfer::store_hash_error(object));
  }
  return {};
}

// What this rank wrote is what its disk gives back.
Status Run::verify_disk() {
  auto buffer = transfer::Buffers::make(1, options_.chunk_size);
  if (!buffer) return tl::unexpected(buffer.error());
  std::byte* memory = buffer->at(0);
  for (std::size_t c = 0; c < layout_.chunks.size(); ++c) {
    if (held_.test(c)) continue;
    const plan::Chunk& chunk = layout_.chunks[c];
    for (std::uint32_t e = chunk.first_extent; e < chunk.first_extent + chunk.extent_count; ++e) {
      const plan::Extent& extent = layout_.extents[e];
      if (auto ok = staging_->read(extent.object, extent.offset, extent.length, memory); !ok)
        return ok;
      if (store::digest(memory, extent.length) != digests_[e]) {
        return fail(ExitCode::kIntegrity,
                    fmt::format("the disk gives back other bytes of {} than were written to it",
                                plan::printable(listing_.objects[extent.object].name)));
      }
      if (auto ok = stop_requested(); !ok) return ok;
    }
  }
  return {};
}

Run::Outcome Run::verify() {
  if (options_.move.verify != transfer::Verify::kStore &&
      options_.move.verify != transfer::Verify::kDisk)
    return {};
  status_.stage("verify");
  verify_span_.start(clock_.now());
  const bool disk = options_.move.verify == transfer::Verify::kDisk;
  const Status mine = in_background("the verification", [this, disk] {
    Status read_back = disk ? verify_disk() : Status();
    return read_back ? verify_store() : read_back;
  });
  verify_span_.stop(clock_.now());
  return fabric_.agree(mine, "the verification");
}

// ---- publish

std::vector<std::vector<store::ProvenExtent>> Run::proven_extents() const {
  std::vector<std::vector<store::ProvenExtent>> all(listing_.objects.size());
  for (std::size_t c = 0; c < layout_.chunks.size(); ++c) {
    const plan::Chunk& chunk = layout_.chunks[c];
    for (std::uint32_t e = chunk.first_extent; e < chunk.first_extent + chunk.extent_count; ++e) {
      const plan::Extent& extent = layout_.extents[e];
      if (presence_.held[extent.object]) continue;
      store::Digest digest = digests_[e];
      if (held_.test(c)) {
        if (const auto* proven =
                store::find_extent(presence_.partial[extent.object], extent.offset, extent.length))
          digest = proven->digest;
      }
      all[extent.object].push_back({extent.offset, extent.length, digest});
    }
  }
  for (auto& extents : all) {
    std::sort(extents.begin(), extents.end(),
              [](const auto& a, const auto& b) { return a.offset < b.offset; });
  }
  return all;
}

Run::Outcome Run::publish() {
  status_.stage("publish");
  publish_span_.start(clock_.now());
  const Status sealed =
      in_background("the disk", [this] { return staging_->seal(proven_extents()); });
  if (auto ok = fabric_.agree(sealed, "the disks"); !ok) return ok;
  if (auto ok = fabric_.agree(stop_requested(), "the disks"); !ok) return ok;
  // Too late to stop: what is published and reported is a success, and takes no time.
  constexpr double kToTheEnd = 60;
  fabric_.finishing(kToTheEnd);
  const Status published = in_background("the disk", [this] { return staging_->publish(); });
  auto outcome = fabric_.agree(published, "the disks");
  publish_span_.stop(clock_.now());
  return outcome;
}

void Run::discard() {
  if (staging_) staging_->discard();
}

}  // namespace stage_model
