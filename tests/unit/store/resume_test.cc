// What a run leaves when it is killed at any point, and what the next one makes of it (F3).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>

#include "engine/store/destination.h"
#include "engine/store/journal.h"
#include "engine/store/leftovers.h"
#include "engine/store/manifest.h"
#include "engine/store/seams.h"
#include "engine/store/temp_directory.h"
#include "tests/unit/store/support.h"

namespace stage_model::store {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kChunk = 64 << 10;

// A listing must outlive its staging, so each version is made once and kept.
const Model& model(const std::string& etag = "\"1\"") {
  static std::map<std::string, Model> versions;
  Model& model = versions[etag];
  if (model.listing.objects.empty()) {
    model.add("big", 20 * kChunk + 77, etag).add("d/small", 5, etag).add("e", 0, etag);
  }
  return model;
}

std::uint64_t total(const Model& model) {
  std::uint64_t bytes = 0;
  for (const plan::Object& object : model.listing.objects) bytes += object.size;
  return bytes;
}

Seams killed_at_write(int number) {
  Seams seams = system_seams();
  auto count = std::make_shared<std::atomic<int>>(0);
  seams.pwrite = [count, number](int fd, const void* data, std::size_t length, off_t offset) {
    if (++*count == number) ::raise(SIGKILL);
    return ::pwrite(fd, data, length, offset);
  };
  return seams;
}

void kill_during(const std::string& destination, const Model& model, int write) {
  StagingOptions options;
  options.writers = 1;
  const int end = in_child([&] {
    static_cast<void>(stage(destination, model, kChunk, options, killed_at_write(write)));
  });
  ASSERT_EQ(end, SIGKILL);
}

enum class Step { kPrepare, kSeal };

void kill_after(const std::string& destination, const Model& model, Step step,
                const StagingOptions& options = {}) {
  const int end = in_child([&] {
    auto staging = open_staging(destination, options);
    auto presence = (*staging)->presence(model.listing);
    EXPECT_TRUE((*staging)->prepare());
    if (step == Step::kPrepare) ::raise(SIGKILL);
    Extents extents;
    EXPECT_TRUE(write_missing(staging->get(), model, *presence, kChunk, &extents));
    EXPECT_TRUE((*staging)->seal(extents));
    ::raise(SIGKILL);
  });
  ASSERT_EQ(end, SIGKILL);
}

TEST(Resume, AKilledRunLeavesNothingThatLooksComplete) {
  const TempDir dir;
  kill_during(dir / "m", model(), 9);
  EXPECT_FALSE(fs::exists(dir / "m"));
  ASSERT_THAT(leftovers(dir.path()), SizeIs(1));
  EXPECT_FALSE(fs::exists(dir / leftovers(dir.path())[0] + "/.stage-model/manifest"));
}

TEST(Resume, OnlyProvenExtentsAreKept) {
  const TempDir dir;
  kill_during(dir / "m", model(), 9);
  const auto outcome = stage(dir / "m", model());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->transferred, total(model()) - 8 * kChunk);
  expect_model(dir / "m", model());
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());
}

TEST(Resume, DamagedExtentsAreTransferredAgain) {
  const TempDir dir;
  kill_during(dir / "m", model(), 9);
  {
    std::fstream file(dir / leftovers(dir.path())[0] + "/big", std::ios::in | std::ios::out);
    file.seekp(3 * kChunk + 17);
    file << "damage";
  }
  const auto outcome = stage(dir / "m", model());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->transferred, total(model()) - 7 * kChunk);
  expect_model(dir / "m", model());
}

TEST(Resume, PreallocatedFilesOfARunThatWroteNothingCountForNothing) {
  const TempDir dir;
  kill_after(dir / "m", model(), Step::kPrepare);
  EXPECT_FALSE(fs::exists(dir / "m"));
  const auto outcome = stage(dir / "m", model());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->transferred, total(model()));
  expect_model(dir / "m", model());
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());
}

TEST(Resume, ANodeThatDiedBetweenAgreementAndRenameIsRepaired) {
  const TempDir dir;
  kill_after(dir / "m", model(), Step::kSeal);
  EXPECT_FALSE(fs::exists(dir / "m"));
  {
    auto staging = open_staging(dir / "m", {});
    auto presence = (*staging)->presence(model().listing);
    EXPECT_FALSE(presence->published);
    EXPECT_THAT(presence->held, ::testing::Each(true));
  }  // a dry run that looks and goes away costs nothing
  const auto outcome = stage(dir / "m", model());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->transferred, 0U);
  expect_model(dir / "m", model());
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());
}

TEST(Resume, TheSameOverAnOldVersionThatSharesFiles) {
  const TempDir dir;
  const Model old = Model().add("a", 90'000).add("b", 5000);
  ASSERT_TRUE(stage(dir / "m", old));
  const Model next = Model().add("a", 90'000).add("b", 6000, "\"2\"");
  kill_after(dir / "m", next, Step::kSeal);
  expect_model(dir / "m", old);
  kill_after(dir / "m", next, Step::kPrepare);  // killed again, right after adopting
  expect_model(dir / "m", old);
  const auto outcome = stage(dir / "m", next);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_LE(outcome->transferred, 6000U);
  expect_model(dir / "m", next);
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());
}

TEST(Resume, KilledAgainAndAgainItStillGetsOn) {
  const TempDir dir;
  for (int run = 0; run < 5; ++run) kill_during(dir / "m", model(), 5);
  const auto outcome = stage(dir / "m", model());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->transferred, total(model()) - 5 * 4 * kChunk);
  expect_model(dir / "m", model());
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());
}

TEST(Resume, AnotherVersionsExtentsAreOfNoUse) {
  const TempDir dir;
  kill_during(dir / "m", model(), 9);
  const auto outcome = stage(dir / "m", model("\"2\""));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->transferred, total(model("\"2\"")));
  expect_model(dir / "m", model("\"2\""));
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());
}

TEST(Resume, SizeAloneNeverJoinsTwoVersions) {
  const TempDir dir;
  kill_during(dir / "m", model(), 9);
  StagingOptions options;
  options.compare = Compare::kSize;
  const auto outcome = stage(dir / "m", model("\"2\""), kChunk, options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  expect_model(dir / "m", model("\"2\""));
}

TEST(Resume, WhatWasHeldByItsSizeIsResumedAsWhatItIs) {
  const TempDir dir;
  kill_after(dir / "m", model(), Step::kSeal);
  StagingOptions options;
  options.compare = Compare::kSize;
  kill_after(dir / "m", model("\"2\""), Step::kPrepare, options);
  const auto outcome = stage(dir / "m", model("\"2\""));
  ASSERT_TRUE(outcome) << outcome.error().message;
  expect_model(dir / "m", model("\"2\""));
}

TEST(Resume, AFileThatAPublishedModelSharesIsNotWrittenOn) {
  const TempDir dir;
  kill_during(dir / "m", model(), 9);
  fs::create_hard_link(dir / leftovers(dir.path())[0] + "/big", dir / "other");
  const std::string before = slurp(dir / "other");
  ASSERT_TRUE(stage(dir / "m", model()));
  expect_model(dir / "m", model());
  EXPECT_EQ(slurp(dir / "other"), before);
}

TEST(Resume, AnOrderlyEndKeepsOrRemovesAsConfigured) {
  for (const double keep : {86400.0, 0.0}) {
    const TempDir dir;
    StagingOptions options;
    options.partial_keep_s = keep;
    {
      auto staging = open_staging(dir / "m", options);
      auto presence = (*staging)->presence(model().listing);
      ASSERT_TRUE((*staging)->prepare());
      Extents extents;
      ASSERT_TRUE(write_missing(staging->get(), model(), *presence, kChunk, &extents));
    }
    EXPECT_FALSE(fs::exists(dir / "m"));
    EXPECT_THAT(leftovers(dir.path()), SizeIs(keep > 0 ? 1 : 0));
    const auto outcome = stage(dir / "m", model(), kChunk, options);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->transferred, keep > 0 ? 0 : total(model()));
    expect_model(dir / "m", model());
    EXPECT_THAT(leftovers(dir.path()), IsEmpty());
  }
}

TEST(Resume, DiscardRemovesAtOnceAndEndsWhatIsQueued) {
  const TempDir dir;
  auto staging = open_staging(dir / "m", {});
  auto presence = (*staging)->presence(model().listing);
  ASSERT_TRUE((*staging)->prepare());
  (*staging)->discard();
  EXPECT_TRUE(fs::is_empty(dir.path()));
  Extents extents;
  const Status status = write_missing(staging->get(), model(), *presence, kChunk, &extents);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ExitCode::kStopped);
  EXPECT_FALSE((*staging)->seal(extents));
}

void set_age(const std::string& temp, long seconds) {
  const struct timespec times[2] = {{::time(nullptr) - seconds, 0}, {::time(nullptr) - seconds, 0}};
  ::utimensat(AT_FDCWD, (temp + "/.stage-model/journal").c_str(), times, 0);
}

TEST(Resume, OldLeftoversGo) {
  const TempDir dir;
  kill_during(dir / "m", model(), 9);
  kill_during(dir / "other", model(), 9);
  StagingOptions options;
  options.partial_keep_s = 3600;
  const auto age = [&](long seconds) {
    for (const std::string& name : leftovers(dir.path())) set_age(dir / name, seconds);
  };
  age(3000);
  {
    auto staging = open_staging(dir / "third", options);
    ASSERT_TRUE((*staging)->presence(model().listing));
  }
  EXPECT_THAT(leftovers(dir.path()), SizeIs(2));
  age(4000);
  const auto outcome = stage(dir / "m", model(), kChunk, options);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->transferred, total(model()));
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());
}

TEST(Resume, WithNothingToBeKeptOtherPlacesLeftoversGoAtOnceToo) {
  const TempDir dir;
  kill_during(dir / "other", model(), 9);
  StagingOptions options;
  options.partial_keep_s = 0;
  auto staging = open_staging(dir / "m", options);
  ASSERT_TRUE((*staging)->presence(model().listing));
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());
}

TEST(Resume, DeadLeftoversOfAllPlacesTheOldestFirstAndNoLiveOne) {
  const TempDir dir;
  for (const auto& [name, age] : {std::pair("a", 100L), {"b", 300L}, {"c", 200L}}) {
    kill_during(dir / name, model(), 9);
    const auto all = leftovers(dir.path());
    for (const std::string& found : all) {
      if (found.rfind(temp_prefix(name), 0) == 0) set_age(dir / found, age);
    }
  }
  const std::vector<std::string> killed = leftovers(dir.path());
  auto live = open_staging(dir / "live", {});
  ASSERT_TRUE((*live)->presence(model().listing));
  ASSERT_TRUE((*live)->prepare());
  std::string live_name;
  for (const std::string& name : leftovers(dir.path())) {
    if (std::find(killed.begin(), killed.end(), name) == killed.end()) live_name = name;
  }
  const auto destination = open_destination(dir / "m");
  ASSERT_TRUE(destination);
  const auto dead = dead_leftovers(*destination, system_seams(), {});
  ASSERT_THAT(dead, SizeIs(3));
  EXPECT_EQ(dead[0].name.rfind(temp_prefix("b"), 0), 0U);
  EXPECT_EQ(dead[1].name.rfind(temp_prefix("c"), 0), 0U);
  EXPECT_EQ(dead[2].name.rfind(temp_prefix("a"), 0), 0U);
  EXPECT_GE(dead[0].usage.bytes, 20 * kChunk);  // in full, as it was reserved
  // Another run is quicker with one of them.
  fs::rename(dir / dead[1].name, dir / "taken");
  EXPECT_TRUE(remove_leftover(*destination, dead[0]));
  EXPECT_FALSE(remove_leftover(*destination, dead[1]));
  EXPECT_TRUE(remove_leftover(*destination, dead[2]));
  EXPECT_THAT(leftovers(dir.path()), ::testing::ElementsAre(live_name));
  EXPECT_TRUE(fs::exists(dir / "taken/big"));
}

// What is linked from a published model gives nothing back.
TEST(Resume, SharedFilesAreNotCountedAsSpaceToBeHad) {
  const TempDir dir;
  ASSERT_TRUE(stage(dir / "m", Model().add("a", 4 << 20).add("b", 5000)));
  kill_after(dir / "m", Model().add("a", 4 << 20).add("b", 6000, "\"2\""), Step::kPrepare);
  const auto destination = open_destination(dir / "n");
  ASSERT_TRUE(destination);
  const auto dead = dead_leftovers(*destination, system_seams(), {});
  ASSERT_THAT(dead, SizeIs(1));
  EXPECT_LT(dead[0].usage.bytes, 1U << 20);
}

TEST(Resume, ALiveRunsDirectoryIsLeftAloneEvenWhereLocksLie) {  // C2
  const TempDir dir;
  WaitingChild other([&] {
    Seams seams = system_seams();
    seams.lock = [](int) { return 0; };
    const auto outcome = stage(dir / "m", model(), kChunk, {}, seams);
    EXPECT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->transferred, total(model()));
  });
  auto staging = open_staging(dir / "m", {});
  auto presence = (*staging)->presence(model().listing);
  ASSERT_TRUE((*staging)->prepare());
  const auto before = leftovers(dir.path());
  ASSERT_THAT(before, SizeIs(1));
  EXPECT_EQ(other.go(), 0);
  EXPECT_EQ(leftovers(dir.path()), before);
  Extents extents;
  ASSERT_TRUE(write_missing(staging->get(), model(), *presence, kChunk, &extents));
  ASSERT_TRUE((*staging)->seal(extents));
  ASSERT_TRUE((*staging)->publish());
  expect_model(dir / "m", model());
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());
}

// A leftover whose owner this process cannot see, quiet for `age` seconds.
std::string unseen_leftover(const TempDir& dir, long age) {
  kill_during(dir / "m", model(), 9);
  const std::string path = dir / leftovers(dir.path()).at(0) + "/.stage-model/journal";
  auto journal = parse_journal(slurp(path));
  JournalHeader header = journal->header;
  header.owner.namespaces = "pid:[1] time:[2]";
  std::string text = encode_header(header);
  for (const JournalObject& object : journal->objects) {
    plan::Object listed;
    listed.name = object.name;
    listed.etag = object.etag;
    listed.size = object.size;
    text += encode_object(object.id, listed);
    for (const ProvenExtent& extent : object.extents) text += encode_extent(object.id, extent);
  }
  spit(path, text);
  const struct timespec times[2] = {{::time(nullptr) - age, 0}, {::time(nullptr) - age, 0}};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);
  return path;
}

Seams no_locks() {
  Seams seams = system_seams();
  seams.lock = [](int) {
    errno = ENOLCK;
    return -1;
  };
  return seams;
}

TEST(Resume, AnOwnerInAnotherContainerThatHoldsItsLockIsAlive) {  // C2
  for (const long age : {60L, 5000L}) {
    const TempDir dir;
    const std::string journal = unseen_leftover(dir, age);
    const int lock = ::open(journal.c_str(), O_RDONLY);
    ASSERT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
    const auto outcome = stage(dir / "m", model());
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->transferred, total(model()));  // not adopted, and
    EXPECT_TRUE(fs::exists(journal));                 // not removed
    ::close(lock);
  }
}

TEST(Resume, OneThatWasKilledInAnotherContainerIsResumedAtOnce) {
  const TempDir dir;
  unseen_leftover(dir, 0);
  const auto outcome = stage(dir / "m", model());
  ASSERT_TRUE(outcome);
  EXPECT_LT(outcome->transferred, total(model()));
  expect_model(dir / "m", model());
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());
}

// The lock is there before anything that others could read.
TEST(Resume, TheJournalIsLockedBeforeItsFirstByte) {
  const TempDir dir;
  Seams seams = system_seams();
  int locked = 0;
  seams.lock = [&](int fd) {
    struct stat st = {};
    if (::fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
      ++locked;
      EXPECT_EQ(st.st_size, 0);
    }
    return ::flock(fd, LOCK_EX | LOCK_NB);
  };
  ASSERT_TRUE(stage(dir / "m", model(), kChunk, {}, seams));
  EXPECT_EQ(locked, 1);
}

TEST(Resume, WhereNoLockCanBeHadNothingIsTaken) {
  const TempDir dir;
  const std::string journal = unseen_leftover(dir, 5000);
  ASSERT_TRUE(stage(dir / "m", model(), kChunk, {}, no_locks()));
  EXPECT_TRUE(fs::exists(journal));
}

TEST(Resume, ADirectoryWithoutAJournalIsLeftWhileItIsYoung) {
  const TempDir dir;
  fs::create_directories(dir / temp_prefix("m") + "0badcafe");
  ASSERT_TRUE(stage(dir / "m", model()));
  EXPECT_THAT(leftovers(dir.path()), SizeIs(1));
}

TEST(Resume, ARunWhoseDirectoryWasTakenFailsInsteadOfPublishingAMixture) {  // C2
  const TempDir dir;
  auto staging = open_staging(dir / "m", {});
  auto presence = (*staging)->presence(model().listing);
  ASSERT_TRUE((*staging)->prepare());
  Extents extents;
  ASSERT_TRUE(write_missing(staging->get(), model(), *presence, kChunk, &extents));
  ASSERT_TRUE((*staging)->seal(extents));
  const std::string name = leftovers(dir.path())[0];
  fs::rename(dir / name, dir / "taken");
  fs::create_directory(dir / name);
  spit(dir / name + "/big", "something else");
  const Status status = (*staging)->publish();
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("removed by someone"));
  EXPECT_FALSE(fs::exists(dir / "m"));
}

}  // namespace
}  // namespace stage_model::store
