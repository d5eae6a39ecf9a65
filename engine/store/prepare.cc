#include "engine/store/prepare.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <string_view>
#include <thread>

#include "engine/base/mutex.h"
#include "engine/base/parallel.h"
#include "engine/store/aligned.h"
#include "engine/store/errors.h"
#include "engine/store/presence.h"
#include "engine/store/space.h"
#include "engine/store/tree.h"

namespace stage_model::store {
namespace {

class Preparation {
 public:
  explicit Preparation(State* state) : state_(*state), temp_(state->temp->dir.get()) {}

  Status run() {
    Status status = directories();
    // First what an earlier run left, then its rest away, so that its space is there for the new.
    if (status) status = for_all([this](std::uint32_t i) { return move_adopted(i); });
    if (!status) return status;
    if (state_.adopted) {
      state_.adopted->dir = Fd();
      remove_tree(temp_, kAdoptedPath);
    }
    status = probe_direct();
    if (status) status = for_all([this](std::uint32_t i) { return make(i); });
    return status;
  }

 private:
  template <class Step>
  Status for_all(const Step& step) {
    return parallel_for(state_.items.size(), state_.threads(),
                        [&](std::size_t i) { return step(static_cast<std::uint32_t>(i)); });
  }

  tl::unexpected<Error> failed(const std::string& shown, int error) {
    if (out_of_space(error)) state_.full = true;
    return tl::unexpected(write_error(state_, shown, error, bytes_to_transfer(state_)));
  }

  Status directories() {
    std::string_view last;
    for (const plan::Object& object : state_.listing->objects) {
      const std::size_t slash = object.name.rfind('/');
      if (slash == std::string::npos) continue;
      const std::string_view parent = std::string_view(object.name).substr(0, slash);
      if (parent == last) continue;  // sorted by name: neighbours share it
      last = parent;
      if (const int error = make_directories(temp_, parent); error != 0) {
        return failed(state_.temp_path() + "/" + std::string(parent), error);
      }
    }
    for (const std::string& name : state_.listing->directories) {
      if (const int error = make_directories(temp_, name); error != 0) {
        return failed(state_.temp_path() + "/" + name, error);
      }
    }
    return {};
  }

  Status move_adopted(std::uint32_t i) {
    const Item& item = state_.items[i];
    if (item.origin != Origin::kPartial && item.origin != Origin::kAdopted) return {};
    const plan::Object& object = state_.listing->objects[i];
    const char* name = object.name.c_str();
    if (::renameat(state_.adopted->dir.get(), name, temp_, name) != 0) {
      return failed(state_.shown(i), errno);
    }
    // Should this run die as well, the next one finds it in our journal, as what it was staged as.
    plan::Object as_staged = object;
    if (item.held()) as_staged.etag = item.record->etag;
    const int error = state_.temp->journal->extents(
        i, as_staged, item.held() ? item.record->extents : item.proven);
    if (error != 0) return failed(state_.shown(i), error);
    return {};
  }

  Status make(std::uint32_t i) {
    switch (state_.items[i].origin) {
      case Origin::kAdopted:
      case Origin::kCopied:
        return {};
      case Origin::kDestination:
        return link(i);
      case Origin::kPartial:
      case Origin::kTransfer:
        break;
    }
    const plan::Object& object = state_.listing->objects[i];
    const bool fresh = state_.items[i].origin == Origin::kTransfer;
    const Fd fd =
        open_beneath(temp_, object.name.c_str(), O_WRONLY | (fresh ? O_CREAT | O_EXCL : 0), 0644);
    if (!fd || ::fchmod(fd.get(), 0644) != 0) return failed(state_.shown(i), errno);
    if (const int error = reserve(fd.get(), object.size); error != 0) {
      return failed(state_.shown(i), error);
    }
    return {};
  }

  // The length is set here, so that no write extends the file (which would serialise them), and the
  // blocks are ours from now on, whoever else fills the disk.
  static int reserve(int fd, std::uint64_t size) {
    if (size == 0) return 0;
    const auto length = static_cast<off_t>(size);
    while (::fallocate(fd, 0, 0, length) != 0) {
      if (errno == EINTR) continue;
      if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL) return errno;
      return ::ftruncate(fd, length) == 0 ? 0 : errno;
    }
    return 0;
  }

  Status link(std::uint32_t i) {
    const plan::Object& object = state_.listing->objects[i];
    const char* name = object.name.c_str();
    int from = state_.dest_dir.get();
    if (state_.seams.link(from, name, temp_, name) != 0) {
      if (errno == ENOENT) return link_from_newer(i);
      if (errno != EPERM && errno != EMLINK && errno != EOPNOTSUPP && errno != ENOSYS &&
          errno != EXDEV && errno != EINVAL) {
        return failed(state_.shown(i), errno);
      }
      return copy(i);
    }
    struct stat st = {};
    if (stat_at(temp_, name, &st) != 0 || !same_file(st, *state_.items[i].record))
      return changed(i);
    return {};
  }

  // Another job has replaced DEST since presence(). Most likely by the very version that we build.
  Status link_from_newer(std::uint32_t i) {
    const MutexLock lock(newer_mutex_);
    if (!newer_dir_) {
      auto existing = open_existing(state_.destination);
      if (!existing) return tl::unexpected(existing.error());
      newer_dir_ = std::move(*existing);
      if (newer_dir_) newer_ = load_manifest(newer_dir_.get());
    }
    const plan::Object& object = state_.listing->objects[i];
    const Manifest::File* old = state_.items[i].record;
    const Manifest::File* record =
        newer_ && newer_->source == state_.listing->held_as() ? newer_->find(object.name) : nullptr;
    struct stat st = {};
    if (record == nullptr || record->size != old->size || record->etag != old->etag ||
        state_.seams.link(newer_dir_.get(), object.name.c_str(), temp_, object.name.c_str()) != 0 ||
        stat_at(temp_, object.name.c_str(), &st) != 0 || !same_file(st, *record)) {
      return changed(i);
    }
    state_.items[i].record = keep(*record);
    return {};
  }

  const Manifest::File* keep(const Manifest::File& record) {
    // Several threads read dest_manifest's records; new ones get a home of their own.
    state_.newer_records.push_back(record);
    return &state_.newer_records.back();
  }

  Status copy(std::uint32_t i) {
    const plan::Object& object = state_.listing->objects[i];
    const Fd in = open_beneath(state_.dest_dir.get(), object.name.c_str(), O_RDONLY);
    struct stat st = {};
    if (!in || ::fstat(in.get(), &st) != 0 || !same_file(st, *state_.items[i].record)) {
      return changed(i);
    }
    const Fd out = open_beneath(temp_, object.name.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (!out || ::fchmod(out.get(), 0644) != 0) return failed(state_.shown(i), errno);
    if (const int error = copy_bytes(in.get(), out.get(), object.size); error != 0) {
      return failed(state_.shown(i), error);
    }
    state_.items[i].origin = Origin::kCopied;
    return {};
  }

  static int copy_bytes(int in, int out, std::uint64_t size) {
    constexpr std::uint64_t kPiece = 1U << 20;
    std::uint64_t done = 0;
    while (done < size) {
      const ssize_t put = ::copy_file_range(in, nullptr, out, nullptr, size - done, 0);
      if (put <= 0) break;  // not between these two, or an error that the plain way will repeat
      done += static_cast<std::uint64_t>(put);
    }
    const AlignedBuffer buffer = make_aligned(kPiece);
    while (done < size) {
      const ssize_t got = ::pread(in, buffer.get(), kPiece, static_cast<off_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return got == 0 ? EIO : errno;
      const ssize_t put =
          ::pwrite(out, buffer.get(), static_cast<std::size_t>(got), static_cast<off_t>(done));
      if (put < 0 && errno != EINTR) return errno;
      if (put > 0) done += static_cast<std::uint64_t>(put);
    }
    return 0;
  }

  Status changed(std::uint32_t i) {
    return fail(ExitCode::kDestination,
                fmt::format("{}/{} was changed or removed while it was being staged: run again",
                            printable(state_.destination.path),
                            printable(state_.listing->objects[i].name)));
  }

  // Does O_DIRECT work here, and how fast is it?
  Status probe_direct() {
    if (!state_.direct) return {};
    constexpr char kProbe[] = ".stage-model/probe";
    const Fd fd = open_beneath(temp_, kProbe, O_WRONLY | O_CREAT | O_EXCL | O_DIRECT, 0600);
    const int error = fd ? write_probe(fd.get()) : errno;
    ::unlinkat(temp_, kProbe, 0);
    if (error == EINVAL || error == EOPNOTSUPP) {
      state_.direct = false;
    } else if (error != 0) {
      return failed(state_.temp_path(), error);
    } else if (state_.options.writers == 0) {
      state_.options.writers = choose_writers();
    }
    return {};
  }

  // Larger until the time is more than that of a call; one block decides whether it works at all.
  int write_probe(int fd) {
    constexpr std::uint64_t kSizes[] = {plan::kAlignment, 64 << 10, 1 << 20, 8 << 20};
    constexpr double kEnough = 2e-3;
    const AlignedBuffer buffer = make_aligned(*std::rbegin(kSizes));
    for (const std::uint64_t size : kSizes) {
      std::fill_n(buffer.get(), size, std::byte{0});
      const auto begin = std::chrono::steady_clock::now();
      const ssize_t put = ::pwrite(fd, buffer.get(), size, 0);
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (put < 0 && size == kSizes[0]) return errno;
      if (put < static_cast<ssize_t>(size)) break;  // too full for a probe: the staging will tell
      if (size > kSizes[0]) state_.disk_speed = static_cast<double>(size) / seconds;
      if (seconds > kEnough) break;
    }
    return 0;
  }

  // One thread that gets more than 1 GB/s has several NVMe in a stripe below it, which want more.
  unsigned choose_writers() const {
    constexpr double kStripe = 1e9;
    constexpr unsigned kManyCores = 16;
    return state_.disk_speed > kStripe && std::thread::hardware_concurrency() >= kManyCores ? 8 : 4;
  }

  State& state_;
  int temp_;
  Mutex newer_mutex_;
  Fd newer_dir_ STAGE_GUARDED_BY(newer_mutex_);
  std::optional<Manifest> newer_ STAGE_GUARDED_BY(newer_mutex_);
};

}  // namespace

Status fill_temp_directory(State* state) {
  struct stat st = {};
  if (state->dest_dir && ::fstat(state->dest_dir.get(), &st) == 0 && st.st_uid != ::geteuid()) {
    return fail(ExitCode::kDestination,
                fmt::format("destination {} holds another version and belongs to another user",
                            printable(state->destination.path)));
  }
  if (!state->temp) {
    auto temp = make_temp_directory(state->destination, state->listing->held_as(), state->seams);
    if (!temp) {
      // If the disk has filled up since the check, this says how much is needed and free.
      Status room = check_free(*state, bytes_to_transfer(*state), 1);
      return tl::unexpected(room ? temp.error() : room.error());
    }
    state->temp.emplace(std::move(*temp));
  }
  return Preparation(state).run();
}

}  // namespace stage_model::store
