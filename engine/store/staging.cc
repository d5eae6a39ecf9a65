// The steps of a staging in their order; each is a file of its own.
#include "engine/store/staging.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine/store/aligned.h"
#include "engine/store/errors.h"
#include "engine/store/file_table.h"
#include "engine/store/leftovers.h"
#include "engine/store/prepare.h"
#include "engine/store/presence.h"
#include "engine/store/publish.h"
#include "engine/store/seal.h"
#include "engine/store/space.h"
#include "engine/store/state.h"
#include "engine/store/tree.h"
#include "engine/store/writer_pool.h"

namespace stage_model::store {
namespace {

// A caller that skips a step is a bug of ours; it is told so instead of being obeyed.
tl::unexpected<Error> out_of_order(const char* what) {
  return fail(ExitCode::kUsage, fmt::format("internal: {} out of order", what));
}

class StagingDirectory final : public Staging {
 public:
  StagingDirectory(Destination destination, const StagingOptions& options, const Seams& seams)
      : files_([this](std::uint32_t object, bool direct) { return open_file(object, direct); },
               FileTable::default_limit()) {
    state_.destination = std::move(destination);
    state_.options = options;
    state_.seams = seams;
    state_.direct = options.direct;
  }

  ~StagingDirectory() override {
    stop_writers();
    if (!state_.temp) return;
    const bool worth = adopted_waits() || journaled_ || state_.sealed;
    if (!worth || state_.full || state_.options.partial_keep_s <= 0 ||
        state_.temp->journal->release() != 0) {
      discard();
    }
  }

  Result<Presence> presence(const plan::Listing& listing) override {
    if (state_.listing != nullptr) return out_of_order("presence");
    state_.listing = &listing;
    if (Status status = look(&state_); !status) return tl::unexpected(status.error());
    to_come_ = bytes_to_transfer(state_);
    Presence presence;
    presence.published = state_.published;
    for (std::size_t i = 0; i < state_.items.size(); ++i) {
      const Item& item = state_.items[i];
      presence.held.push_back(item.held());
      presence.other_version.push_back(item.held() && item.record->etag != listing.objects[i].etag);
      presence.partial.push_back(item.proven);
      for (const ProvenExtent& piece : item.held() ? item.record->extents : item.proven) {
        if (piece.length < listing.objects[i].size)
          presence.longest_piece = std::max(presence.longest_piece, piece.length);
      }
    }
    return presence;
  }

  void forget(std::uint32_t object) override {
    if (!state_.items[object].held()) return;
    state_.items[object] = {};
    state_.published = false;
    state_.forgot = true;
    to_come_ += state_.listing->objects[object].size;
  }

  Status check_space(std::uint64_t bytes_needed, std::uint64_t files_needed) override {
    if (state_.listing == nullptr) return out_of_order("check_space");
    room_ = {bytes_needed, files_needed};
    return check_room(state_, bytes_needed, files_needed);
  }

  Status prepare() override {
    if (state_.listing == nullptr || prepared_) return out_of_order("prepare");
    if (!state_.published) {
      if (room_) {
        if (Status status = make_room(state_, room_->bytes, room_->files); !status) return status;
      }
      if (Status status = fill_temp_directory(&state_); !status) return status;
      journaled_ = bytes_to_transfer(state_) != total_bytes() || journaled_;
      WriterPool::Options options;
      options.threads = state_.threads();
      options.seams = state_.seams;
      options.written = [this](const Write& write) { return record(write); };
      options.describe = [this](std::uint32_t object, int error) {
        return describe(object, error);
      };
      pool_ = std::make_unique<WriterPool>(&files_, &state_.direct, std::move(options));
    }
    prepared_ = true;
    return {};
  }

  void write(Write write) override {
    if (!pool_ || state_.sealed || write.object >= state_.items.size() ||
        state_.items[write.object].held() || !fits(write)) {
      write.done(out_of_order("write"));
      return;
    }
    pool_->submit(std::move(write));
  }

  Status read(std::uint32_t object, std::uint64_t offset, std::uint64_t length,
              std::byte* target) override {
    if (!prepared_ || object >= state_.items.size()) return out_of_order("read");
    const bool direct = state_.direct && offset % plan::kAlignment == 0;
    int error = read_with(object, offset, length, target, direct);
    if (error == EINVAL && direct) error = read_with(object, offset, length, target, false);
    if (error != 0) return disk_error("read", state_.shown(object), error);
    return {};
  }

  const std::vector<ProvenExtent>& recorded(std::uint32_t object) const override {
    const Item& item = state_.items[object];
    return item.held() ? item.record->extents : item.proven;
  }

  Status seal(const std::vector<std::vector<ProvenExtent>>& extents) override {
    if (!prepared_ || state_.sealed) return out_of_order("seal");
    if (state_.published) return {};
    files_.clear();
    Status status = seal_temp_directory(&state_, extents);
    state_.sealed = status.has_value();
    return status;
  }

  Status publish() override {
    if (state_.published) return still_published();
    if (!state_.sealed) return out_of_order("publish");
    stop_writers();
    if (Status status = publish_directory(&state_); !status) return status;
    state_.published = true;
    // What dead runs for this place have left since we looked is of no use to anyone now.
    LeftoverRules rules;
    rules.partial_keep_s = state_.options.partial_keep_s;
    rules.adopt = false;
    static_cast<void>(take_leftovers(state_.destination, rules, state_.seams, {}, &state_.temp));
    return {};
  }

  Status save(const std::string& name, const std::string& text) override {
    if (!state_.published || name.empty() || name[0] == '.' ||
        name.find('/') != std::string::npos || name == "manifest") {
      return out_of_order("save");
    }
    return write_file(state_.dest_dir.get(), kOwnDirectory, name.c_str(), text,
                      state_.destination.path + "/" + kOwnDirectory + "/" + name);
  }

  void discard() override {
    stop_writers();
    if (!state_.temp) return;
    remove_tree(state_.destination.parent_dir.get(), state_.temp->name);
    state_.temp.reset();
  }

  bool direct() const override { return state_.direct; }
  unsigned writers() const override { return state_.threads(); }
  double disk_speed() const override { return state_.disk_speed; }
  std::uint64_t bytes_written() const override { return pool_ ? pool_->bytes_written() : 0; }

 private:
  void stop_writers() {
    if (pool_) pool_->stop();
    files_.clear();
  }

  Fd open_file(std::uint32_t object, bool direct) {
    const int dir = state_.published ? state_.dest_dir.get() : state_.temp->dir.get();
    // Held files may be links into a model that others read: never opened for writing.
    const bool ours = !state_.published && !state_.items[object].held();
    return open_beneath(dir, state_.listing->objects[object].name.c_str(),
                        (ours ? O_RDWR : O_RDONLY) | (direct ? O_DIRECT : 0));
  }

  bool fits(const Write& write) const {
    const std::uint64_t size = state_.listing->objects[write.object].size;
    return write.offset % plan::kAlignment == 0 && write.offset <= size &&
           write.length <= size - write.offset &&
           reinterpret_cast<std::uintptr_t>(write.data) % plan::kAlignment == 0;
  }

  int read_with(std::uint32_t object, std::uint64_t offset, std::uint64_t length, std::byte* target,
                bool direct) {
    const auto file = files_.get(object, direct);
    if (!file) return errno;
    for (std::uint64_t done = 0; done < length;) {
      const std::uint64_t want = length - done;
      const ssize_t got = ::pread(file->get(), target + done, direct ? align_up(want) : want,
                                  static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno;
      if (got == 0) return EIO;  // the file is shorter than it should be
      done += static_cast<std::uint64_t>(got);
      // A piece that ends unaligned before the end cannot go on with O_DIRECT.
      if (done < length && direct && done % plan::kAlignment != 0) return EINVAL;
    }
    return 0;
  }

  Status record(const Write& write) {
    journaled_ = true;
    const int error =
        state_.temp->journal->extents(write.object, state_.listing->objects[write.object],
                                      {{write.offset, write.length, write.digest}});
    if (error != 0) return tl::unexpected(describe(write.object, error));
    return {};
  }

  Error describe(std::uint32_t object, int error) {
    if (out_of_space(error)) state_.full = true;
    const std::uint64_t written = pool_ ? pool_->bytes_written() : 0;
    return write_error(state_, state_.shown(object), error, to_come_ - std::min(to_come_, written));
  }

  // Not yet moved out of the adopted directory, which lies in ours.
  bool adopted_waits() const { return state_.adopted && state_.adopted->dir; }

  std::uint64_t total_bytes() const {
    std::uint64_t bytes = 0;
    for (const plan::Object& object : state_.listing->objects) bytes += object.size;
    return bytes;
  }

  Status still_published() {
    auto existing = open_existing(state_.destination);
    if (!existing) return tl::unexpected(existing.error());
    if (*existing) {
      const auto manifest = load_manifest(existing->get());
      if (manifest && is_exactly(existing->get(), *manifest, *state_.listing,
                                 state_.options.compare, state_.threads())) {
        state_.dest_dir = std::move(*existing);
        return {};
      }
    }
    return fail(ExitCode::kDestination,
                fmt::format("destination {} was changed while this job was being staged: run again",
                            printable(state_.destination.path)));
  }

  State state_;
  FileTable files_;
  std::unique_ptr<WriterPool> pool_;
  std::uint64_t to_come_ = 0;
  struct Needed {
    std::uint64_t bytes, files;
  };
  std::optional<Needed> room_;  // what check_space() found to fit
  std::atomic<bool> journaled_{false};
  bool prepared_ = false;
};

}  // namespace

std::string State::shown(std::uint32_t object) const {
  return destination.path + "/" + listing->objects[object].name;
}

std::string State::temp_path() const {
  const std::string parent = destination.parent == "/" ? "" : destination.parent;
  return parent + "/" + (temp ? temp->name : std::string());
}

Result<std::unique_ptr<Staging>> open_staging_with(const std::string& destination,
                                                   const StagingOptions& options,
                                                   const Seams& seams) {
  auto place = open_destination(destination);
  if (!place) return tl::unexpected(place.error());
  return std::make_unique<StagingDirectory>(std::move(*place), options, seams);
}

std::optional<std::string> read_saved(const std::string& destination, const std::string& name) {
  constexpr std::uint64_t kMost = 1U << 30;
  auto place = parse_destination(destination);
  if (!place) return std::nullopt;
  place->parent_dir = Fd(::open(place->parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!place->parent_dir) return std::nullopt;
  const auto existing = open_existing(*place);
  if (!existing || !*existing) return std::nullopt;
  const std::string path = std::string(kOwnDirectory) + "/" + name;
  auto text = read_file(existing->get(), path.c_str(), kMost, path);
  if (!text) return std::nullopt;
  return std::move(*text);
}

Result<std::unique_ptr<Staging>> open_staging(const std::string& destination,
                                              const StagingOptions& options) {
  return open_staging_with(destination, options, system_seams());
}

}  // namespace stage_model::store
