#include "engine/store/leftovers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

namespace stage_model::store {
namespace {

// A directory without a journal: just being made or just being removed. Neither takes this long.
constexpr double kUnfinishedAge = 600;
// An owner we cannot see (another container) and that holds no lock: quiet for so long, it is gone.
constexpr double kQuietAge = 900;
constexpr int kMaxDepth = 8;  // takeovers of takeovers

double age_of(const struct timespec& then) {
  struct timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec - then.tv_sec);
}

struct Found {
  Fd dir;
  Journal journal;
  double age = 0;  // since the last record
};

// Invalid dir: no journal that can be read.
Found load(Fd dir) {
  Found found;
  struct stat st = {};
  auto bytes = read_file(dir.get(), kJournalPath, kMaxJournalBytes, kJournalPath);
  if (!bytes || stat_at(dir.get(), kJournalPath, &st) != 0) return found;
  auto journal = parse_journal(*bytes);
  if (!journal) return found;
  found.dir = std::move(dir);
  found.journal = std::move(*journal);
  found.age = age_of(st.st_mtim);
  return found;
}

bool sealed(int dir) {
  struct stat st = {};
  return stat_at(dir, kManifestPath, &st) == 0;
}

// Ended between adopting and moving the files out, a directory's worth lies one level deeper.
Found best_level(Found top) {
  Fd level(::fcntl(top.dir.get(), F_DUPFD_CLOEXEC, 0));
  Found best = std::move(top);
  for (int depth = 0; depth < kMaxDepth && level; ++depth) {
    Fd next = open_beneath(level.get(), kAdoptedPath, O_RDONLY | O_DIRECTORY);
    if (!next) break;
    level = Fd(::fcntl(next.get(), F_DUPFD_CLOEXEC, 0));
    Found inner = load(std::move(next));
    if (!inner.dir) continue;
    const bool better = sealed(inner.dir.get()) != sealed(best.dir.get())
                            ? sealed(inner.dir.get())
                            : inner.journal.claimed_bytes() > best.journal.claimed_bytes();
    if (better) best = std::move(inner);
  }
  return best;
}

enum class Verdict { kLeave, kRemove, kAdopt };

struct Candidate {
  std::string name;
  bool sealed = false;
  std::uint64_t bytes = 0;
};

// A lock that its owner took before it wrote the first byte, and that the kernel keeps as long as
// the process lives, whatever container it is in.
bool locked(const Found& found, const Seams& seams) {
  const Fd journal = open_beneath(found.dir.get(), kJournalPath, O_RDONLY);
  return !journal || seams.lock(journal.get()) != 0;
}

Fd open_temp(int parent, const std::string& name) {
  return open_beneath(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

struct Seen {
  Verdict verdict = Verdict::kLeave;  // kAdopt: its owner is gone, and it may be of use
  double age = 0;
  Found found;  // of kAdopt
};

// Whose is it, and does its owner live?
Seen look_at(int parent, const std::string& name, const Seams& seams) {
  Seen seen;
  Fd dir = open_temp(parent, name);
  struct stat st = {};
  if (!dir || ::fstat(dir.get(), &st) != 0 || st.st_uid != ::geteuid()) return seen;
  const bool local = local_file_system(dir.get());
  seen.found = load(std::move(dir));
  if (!seen.found.dir) {
    seen.age = age_of(st.st_ctim);
    if (seen.age > kUnfinishedAge) seen.verdict = Verdict::kRemove;
    return seen;
  }
  seen.age = seen.found.age;
  if (!seen.found.journal.released) {
    const Life life = life_of(seen.found.journal.header.owner, local);
    if (life == Life::kAlive) return seen;
    if (life == Life::kUnknown) {
      // On a disk of this machine alone a lock that can be had is proof. Where several machines
      // write, locks may lie, and time has to pass as well. (Should it lie even so, a live run
      // loses its directory and says so; it never publishes a mixture.)
      if (locked(seen.found, seams)) return seen;
      if (!local) {
        if (seen.age >= kQuietAge) seen.verdict = Verdict::kRemove;
        return seen;
      }
    }
  }
  seen.verdict = Verdict::kAdopt;
  return seen;
}

Verdict judge(const Destination& destination, const std::string& name, const LeftoverRules& rules,
              const Seams& seams, Candidate* candidate) {
  Seen seen = look_at(destination.parent_dir.get(), name, seams);
  if (seen.verdict != Verdict::kAdopt) return seen.verdict;
  Found& found = seen.found;
  const bool expired = found.age >= rules.partial_keep_s;
  if (found.journal.header.destination != destination.path) {
    return expired ? Verdict::kRemove : Verdict::kLeave;
  }
  if (expired || !rules.adopt) return Verdict::kRemove;
  const Found best = best_level(std::move(found));
  candidate->name = name;
  candidate->sealed = sealed(best.dir.get());
  candidate->bytes = best.journal.claimed_bytes();
  const bool useful =
      best.journal.header.source == rules.source && (candidate->sealed || candidate->bytes > 0);
  return useful ? Verdict::kAdopt : Verdict::kRemove;
}

bool is_temp_name(const std::string& name) {
  return name.compare(0, kTempPrefix.size(), kTempPrefix) == 0;
}

std::unique_ptr<Adopted> open_adopted(int temp_dir) {
  Found found = load(open_beneath(temp_dir, kAdoptedPath, O_RDONLY | O_DIRECTORY));
  if (!found.dir) return nullptr;
  found = best_level(std::move(found));
  auto adopted = std::make_unique<Adopted>();
  auto text = read_file(found.dir.get(), kManifestPath, kMaxManifestBytes, kManifestPath);
  if (text) {
    if (auto manifest = parse_manifest(*text)) adopted->manifest = std::move(*manifest);
  }
  adopted->dir = std::move(found.dir);
  adopted->journal = std::move(found.journal);
  return adopted;
}

}  // namespace

Result<std::unique_ptr<Adopted>> take_leftovers(const Destination& destination,
                                                const LeftoverRules& rules, const Seams& seams,
                                                const std::string& own_temp_name,
                                                std::optional<TempDirectory>* temp) {
  const int parent = destination.parent_dir.get();
  std::vector<Candidate> candidates;
  for (const std::string& name : list_directory(parent)) {
    if (!is_temp_name(name) || name == own_temp_name) continue;
    Candidate candidate;
    const Verdict verdict = judge(destination, name, rules, seams, &candidate);
    if (verdict == Verdict::kRemove) remove_tree(parent, name);
    if (verdict == Verdict::kAdopt) candidates.push_back(std::move(candidate));
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.sealed, a.bytes) > std::pair(b.sealed, b.bytes);
  });
  std::unique_ptr<Adopted> adopted;
  for (const Candidate& candidate : candidates) {
    if (adopted) {
      remove_tree(parent, candidate.name);
      continue;
    }
    if (!*temp) {
      auto made = make_temp_directory(destination, rules.source, seams);
      if (!made) return tl::unexpected(made.error());
      temp->emplace(std::move(*made));
    }
    // Fails where another run was quicker: then it is that run's.
    if (::renameat(parent, candidate.name.c_str(), (*temp)->dir.get(), kAdoptedPath) != 0) continue;
    adopted = open_adopted((*temp)->dir.get());
    if (!adopted) remove_tree((*temp)->dir.get(), kAdoptedPath);
  }
  return adopted;
}

std::vector<Leftover> dead_leftovers(const Destination& destination, const Seams& seams,
                                     const std::string& own_temp_name) {
  const int parent = destination.parent_dir.get();
  std::vector<Leftover> dead;
  for (std::string& name : list_directory(parent)) {
    if (!is_temp_name(name) || name == own_temp_name) continue;
    const Seen seen = look_at(parent, name, seams);
    const Fd dir = open_temp(parent, name);
    if (seen.verdict == Verdict::kLeave || !dir) continue;
    dead.push_back({std::move(name), seen.age, tree_usage(dir.get())});
  }
  std::sort(dead.begin(), dead.end(),
            [](const Leftover& a, const Leftover& b) { return a.age > b.age; });
  return dead;
}

bool remove_leftover(const Destination& destination, const Leftover& leftover) {
  const int parent = destination.parent_dir.get();
  const Fd dir = open_temp(parent, leftover.name);
  if (!dir) return false;
  // A run that adopts moves it away before it reads the journal. So without one nobody begins to
  // use it any more, and who began before has moved it: nothing is taken from below a live run.
  ::unlinkat(dir.get(), kJournalPath, 0);
  return same_directory(parent, leftover.name, dir.get()) && remove_tree(parent, leftover.name);
}

}  // namespace stage_model::store
