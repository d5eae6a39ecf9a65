#include "engine/store/publish.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "engine/store/errors.h"
#include "engine/store/presence.h"
#include "engine/store/tree.h"

namespace stage_model::store {
namespace {

constexpr int kAttempts = 16;  // other jobs may publish and replace at the same moment

bool flags_unknown(int error) { return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP; }

// One publisher at a time in a parent, where locks work and the other does not take too long:
// of three that exchange at once, the one that gives back what it took by mistake could put an
// older directory into DEST. It ends with the process. Where it cannot be had, that is what is
// left.
class Turn {
 public:
  Turn(int parent, const Seams& seams)
      : dir_(::openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    constexpr auto kPatience = std::chrono::seconds(10);
    constexpr auto kNap = std::chrono::milliseconds(2);
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (dir_ && seams.lock(dir_.get()) != 0 && errno == EWOULDBLOCK &&
           std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(kNap);
    }
  }

 private:
  Fd dir_;
};

class Publication {
 public:
  explicit Publication(State* state)
      : state_(*state),
        parent_(state->destination.parent_dir.get()),
        name_(state->destination.name),
        temp_name_(state->temp->name) {}

  Status run() {
    const Turn turn(parent_, state_.seams);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (!same_directory(parent_, temp_name_, state_.temp->dir.get())) {
        return fail(ExitCode::kDestination,
                    fmt::format("{} was removed by someone before it could become {}",
                                printable(state_.temp_path()), printable(state_.destination.path)));
      }
      auto existing = open_existing(state_.destination);
      if (!existing) return tl::unexpected(existing.error());
      if (*existing && is_published(existing->get())) {
        state_.dest_dir = std::move(*existing);
        remove_tree(parent_, temp_name_);
        return done();
      }
      const int error = *existing ? replace(existing->get()) : rename(temp_name_, name_);
      if (error == 0) {
        state_.dest_dir = std::move(state_.temp->dir);
        // Its use is over; for a reader it would be a riddle.
        ::unlinkat(state_.dest_dir.get(), kJournalPath, 0);
        return done();
      }
      if (error != EEXIST && error != ENOTEMPTY && error != ENOENT && error != EAGAIN) {
        return disk_error("publish", state_.destination.path, error);
      }
    }
    return fail(ExitCode::kDestination, fmt::format("cannot publish {}: others keep replacing it",
                                                    printable(state_.destination.path)));
  }

 private:
  Status done() {
    state_.temp.reset();
    if (::fsync(parent_) != 0) return disk_error("publish", state_.destination.path, errno);
    return {};
  }

  bool is_published(int dir) {
    const auto manifest = load_manifest(dir);
    const Compare compare = state_.forgot ? Compare::kEtag : state_.options.compare;
    return manifest && is_exactly(dir, *manifest, *state_.listing, compare, state_.threads());
  }

  // Never onto something: a directory that appeared meanwhile makes it fail with EEXIST.
  int rename(const std::string& from, const std::string& to) {
    if (state_.seams.rename(parent_, from.c_str(), to.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (!flags_unknown(errno)) return errno;
    // Plain rename replaces an empty directory at most, of which there is nothing to lose.
    return ::renameat(parent_, from.c_str(), parent_, to.c_str()) == 0 ? 0 : errno;
  }

  int replace(int old) {
    if (state_.seams.rename(parent_, temp_name_.c_str(), name_.c_str(), RENAME_EXCHANGE) != 0) {
      return flags_unknown(errno) ? replace_in_two_steps(old) : errno;
    }
    if (!same_directory(parent_, temp_name_, old)) {
      // Something else took DEST's place after we looked: give it back, look again.
      if (state_.seams.rename(parent_, temp_name_.c_str(), name_.c_str(), RENAME_EXCHANGE) != 0) {
        return errno;
      }
      return EAGAIN;
    }
    remove_tree(parent_, temp_name_);
    return 0;
  }

  // For file systems without RENAME_EXCHANGE: for an instant there is no DEST, never half of one.
  int replace_in_two_steps(int old) {
    const std::string aside = temp_prefix(name_) + "replaced";
    remove_tree(parent_, aside);
    if (const int error = rename(name_, aside); error != 0) return error;
    if (!same_directory(parent_, aside, old)) {
      const int error = rename(aside, name_);
      return error == 0 ? EAGAIN : error;
    }
    if (const int error = rename(temp_name_, name_); error != 0) {
      rename(aside, name_);
      return error;
    }
    remove_tree(parent_, aside);
    return 0;
  }

  State& state_;
  int parent_;
  std::string name_;
  std::string temp_name_;
};

}  // namespace

Status publish_directory(State* state) { return Publication(state).run(); }

}  // namespace stage_model::store
