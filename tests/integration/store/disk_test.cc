// The store on real file systems: 4096-byte sectors, full and read-only disks, memory.
#include "tests/integration/store/disk.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/statvfs.h>

#include <atomic>
#include <chrono>

namespace stage_model::store {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kChunk = 256 << 10;
constexpr std::uint64_t kMiB = 1 << 20;

struct Kind {
  const char* name;
  const char* make;
  int sector;
  bool direct;
};

class OnEveryDisk : public ::testing::TestWithParam<Kind> {};

Model sizes() {
  Model model;
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{511}, std::uint64_t{512},
        std::uint64_t{4095}, std::uint64_t{4096}, std::uint64_t{4097}, kChunk - 1, kChunk,
        kChunk + 1, 21 * kChunk + 513}) {
    char name[32];
    std::snprintf(name, sizeof name, "d/%08lu.bin", static_cast<unsigned long>(size));
    model.add(name, size);
  }
  return model;
}

TEST_P(OnEveryDisk, StagesKillsResumesUpdates) {
  const Disk disk(GetParam().make, "400M", GetParam().sector);
  if (!disk) GTEST_SKIP() << disk.why();
  const Model model = sizes();
  StagingOptions one;
  one.writers = 1;
  const int end = in_child([&] {  // F3
    Seams seams = system_seams();
    std::atomic<int> count{0};
    seams.pwrite = [&](int fd, const void* data, std::size_t length, off_t offset) {
      if (++count == 25) ::raise(SIGKILL);
      return ::pwrite(fd, data, length, offset);
    };
    static_cast<void>(stage(disk / "m", model, kChunk, one, seams));
  });
  ASSERT_EQ(end, SIGKILL);
  EXPECT_FALSE(fs::exists(disk / "m"));

  auto staging = open_staging(disk / "m", {});
  ASSERT_TRUE(staging);
  auto presence = (*staging)->presence(model.listing);
  ASSERT_TRUE(presence);
  std::size_t proven = 0;
  for (const auto& extents : presence->partial) proven += extents.size();
  // 24 writes ended; where O_DIRECT works those of 4097 and kChunk-1 bytes took two, blocks and
  // tail.
  EXPECT_EQ(proven, 22U);
  const Status prepared = (*staging)->prepare();
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ((*staging)->direct(), GetParam().direct);
  Extents extents;
  ASSERT_TRUE(write_missing(staging->get(), model, *presence, kChunk, &extents));
  EXPECT_EQ((*staging)->direct(), GetParam().direct);
  const Status sealed = (*staging)->seal(extents);
  ASSERT_TRUE(sealed) << sealed.error().message;
  const Status published = (*staging)->publish();
  ASSERT_TRUE(published) << published.error().message;
  staging->reset();
  expect_model(disk / "m", model);  // F1

  Model next = sizes();
  next.listing.objects.back().etag = "\"2\"";
  const auto outcome = stage(disk / "m", next, kChunk);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->transferred, next.listing.objects.back().size);
  expect_model(disk / "m", next);
  EXPECT_TRUE(stage(disk / "m", next)->published_before);
  EXPECT_THAT(leftovers(disk.path()), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Disks, OnEveryDisk,
                         ::testing::Values(Kind{"ext4", "mkfs.ext4 -q", 512, true},
                                           Kind{"ext4sector4096", "mkfs.ext4 -q", 4096, true},
                                           Kind{"ext4block1024", "mkfs.ext4 -q -b 1024", 512, true},
                                           Kind{"xfs", "mkfs.xfs -q", 512, true},
                                           Kind{"xfssector4096", "mkfs.xfs -q", 4096, true}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FullDisk, IsNoticedBeforeTheFirstByte) {  // F4
  const Disk disk("mkfs.ext4 -q", "64M");
  if (!disk) GTEST_SKIP() << disk.why();
  const auto outcome = stage(disk / "m", Model().add("a", 100 * kMiB), kMiB);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ExitCode::kDestination);
  EXPECT_THAT(outcome.error().message,
              AllOf(HasSubstr(disk / "m"), HasSubstr("101 MiB needed"), HasSubstr("free")));
  EXPECT_THAT(leftovers(disk.path()), IsEmpty());
}

TEST(FullDisk, SpaceIsReservedSoThatNoOtherWriterTakesIt) {
  for (const char* make : {"mkfs.ext4 -q", "tmpfs"}) {
    const Disk disk(make, "64M");
    if (!disk) GTEST_SKIP() << disk.why();
    const Model model = Model().add("a", 30 * kMiB);
    auto staging = open_staging(disk / "m", {});
    auto presence = (*staging)->presence(model.listing);
    ASSERT_TRUE((*staging)->check_space(30 * kMiB, 1));
    ASSERT_TRUE((*staging)->prepare());
    // A second job, too large for what is left, and then someone who takes all that is left but a
    // little.
    const auto second = stage(disk / "n", Model().add("a", 40 * kMiB), kMiB);
    EXPECT_FALSE(second);
    shell("head -c 200M /dev/zero > " + disk / "hog");
    fs::resize_file(disk / "hog", fs::file_size(disk / "hog") - kMiB);
    Extents extents;
    const Status written = write_missing(staging->get(), model, *presence, kMiB, &extents);
    ASSERT_TRUE(written) << written.error().message;
    const Status sealed = (*staging)->seal(extents);
    ASSERT_TRUE(sealed) << sealed.error().message;
    ASSERT_TRUE((*staging)->publish());
    expect_model(disk / "m", model);
  }
}

TEST(FullDisk, LateLackOfSpaceRemovesThePartialData) {  // F4
  for (const std::uint64_t left : {std::uint64_t{0}, 20 * kMiB}) {
    const Disk disk("mkfs.ext4 -q", "64M");
    if (!disk) GTEST_SKIP() << disk.why();
    const Model model = Model().add("a", 10 * kMiB).add("b", 30 * kMiB);
    auto staging = open_staging(disk / "m", {});
    ASSERT_TRUE((*staging)->presence(model.listing));
    ASSERT_TRUE((*staging)->check_space(40 * kMiB, 2));
    shell("head -c 200M /dev/zero > " + disk / "hog");  // between the check and the reservation
    fs::resize_file(disk / "hog", fs::file_size(disk / "hog") - left);
    const Status status = (*staging)->prepare();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ExitCode::kDestination);
    EXPECT_THAT(status.error().message,
                AllOf(HasSubstr("space"), HasSubstr(disk / "m"), HasSubstr("free")));
    staging->reset();
    EXPECT_THAT(leftovers(disk.path()), IsEmpty());
    EXPECT_FALSE(fs::exists(disk / "m"));
  }
}

TEST(FullDisk, OutOfInodes) {  // F4
  const Disk disk("mkfs.ext4 -q -N 128", "64M");
  if (!disk) GTEST_SKIP() << disk.why();
  Model model;
  for (int i = 100; i < 400; ++i) model.add("f" + std::to_string(i), 1);
  const auto outcome = stage(disk / "m", model);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, AllOf(HasSubstr("inodes"), HasSubstr("free")));
  EXPECT_THAT(leftovers(disk.path()), IsEmpty());

  auto staging = open_staging(disk / "m", {});  // the same without the check
  ASSERT_TRUE((*staging)->presence(model.listing));
  const Status status = (*staging)->prepare();
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, AllOf(HasSubstr("no space left"), HasSubstr("no inodes")));
  staging->reset();
  EXPECT_THAT(leftovers(disk.path()), IsEmpty());
}

TEST(FullDisk, PartialDataCountsAsFree) {
  const Disk disk("mkfs.ext4 -q", "64M");
  if (!disk) GTEST_SKIP() << disk.why();
  const Model model = Model().add("a", 35 * kMiB);
  {
    auto staging = open_staging(disk / "m", {});
    auto presence = (*staging)->presence(model.listing);
    ASSERT_TRUE((*staging)->prepare());
    Extents extents;
    ASSERT_TRUE(write_missing(staging->get(), model, *presence, kMiB, &extents));
  }
  const auto outcome = stage(disk / "m", model, kMiB);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->transferred, 0U);
  expect_model(disk / "m", model);
}

// Reserves all of its space, writes one chunk and is killed.
void leave_behind(const std::string& destination, const Model& model) {
  const int end = in_child([&] {
    Seams seams = system_seams();
    std::atomic<int> count{0};
    seams.pwrite = [&](int fd, const void* data, std::size_t length, off_t offset) {
      if (++count == 2) ::raise(SIGKILL);
      return ::pwrite(fd, data, length, offset);
    };
    StagingOptions options;
    options.writers = 1;
    static_cast<void>(stage(destination, model, kMiB, options, seams));
  });
  ASSERT_EQ(end, SIGKILL);
}

TEST(FullDisk, WhatAStoppedRunReservedMakesRoomForAnotherModel) {
  for (const char* make : {"mkfs.ext4 -q", "tmpfs"}) {
    const Disk disk(make, "64M");
    if (!disk) GTEST_SKIP() << disk.why();
    leave_behind(disk / "a", Model().add("a", 35 * kMiB));
    ASSERT_EQ(leftovers(disk.path()).size(), 1U);
    // What fits beside it takes nothing from it.
    ASSERT_TRUE(stage(disk / "small", Model().add("s", kMiB), kMiB));
    ASSERT_EQ(leftovers(disk.path()).size(), 1U);
    const Model model = Model().add("b", 36 * kMiB);
    ::testing::internal::CaptureStderr();
    const auto outcome = stage(disk / "b", model, kMiB);
    const std::string said = ::testing::internal::GetCapturedStderr();
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_THAT(said, AllOf(HasSubstr("that stopped runs had left in " + disk.path()),
                            HasSubstr("for " + disk / "b")));
    expect_model(disk / "b", model);
    EXPECT_THAT(leftovers(disk.path()), IsEmpty());
  }
}

TEST(FullDisk, OnlyAsManyLeftoversGoAsAreNeeded) {
  const Disk disk("mkfs.ext4 -q", "64M");
  if (!disk) GTEST_SKIP() << disk.why();
  leave_behind(disk / "old", Model().add("a", 16 * kMiB));
  const std::string journal = disk / leftovers(disk.path()).at(0) + "/.stage-model/journal";
  fs::last_write_time(journal, fs::last_write_time(journal) - std::chrono::hours(1));
  leave_behind(disk / "new", Model().add("a", 16 * kMiB));
  ASSERT_TRUE(stage(disk / "b", Model().add("b", 30 * kMiB), kMiB));
  EXPECT_FALSE(fs::exists(journal));
  EXPECT_EQ(leftovers(disk.path()).size(), 1U);
}

TEST(FullDisk, ALiveRunsSpaceIsNeverTakenAndNothingGoesInVain) {
  const Disk disk("mkfs.ext4 -q", "64M");
  if (!disk) GTEST_SKIP() << disk.why();
  leave_behind(disk / "dead", Model().add("a", 8 * kMiB));
  WaitingChild other([&] {
    const auto refused = stage(disk / "b", Model().add("b", 45 * kMiB), kMiB);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("not enough space"));
  });
  const Model model = Model().add("a", 24 * kMiB);
  auto live = open_staging(disk / "live", {});
  auto presence = (*live)->presence(model.listing);
  ASSERT_TRUE(presence);
  ASSERT_TRUE((*live)->prepare());
  ASSERT_EQ(leftovers(disk.path()).size(), 2U);
  EXPECT_EQ(other.go(), 0);
  EXPECT_EQ(leftovers(disk.path()).size(), 2U);
  Extents extents;
  ASSERT_TRUE(write_missing(live->get(), model, *presence, kMiB, &extents));
  ASSERT_TRUE((*live)->seal(extents));
  ASSERT_TRUE((*live)->publish());
  expect_model(disk / "live", model);
}

TEST(FullDisk, AnotherUsersLeftoverIsNotOurs) {
  const Disk disk("mkfs.ext4 -q", "64M");
  if (!disk) GTEST_SKIP() << disk.why();
  fs::permissions(disk.path(), fs::perms::all);
  leave_behind(disk / "a", Model().add("a", 35 * kMiB));
  for (const auto& entry : fs::recursive_directory_iterator(disk / leftovers(disk.path()).at(0))) {
    ASSERT_EQ(::chown(entry.path().c_str(), 65533, 65533), 0);
  }
  ASSERT_EQ(::chown((disk / leftovers(disk.path()).at(0)).c_str(), 65533, 65533), 0);
  const auto refused = stage(disk / "b", Model().add("b", 36 * kMiB), kMiB);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ExitCode::kDestination);
  EXPECT_EQ(leftovers(disk.path()).size(), 1U);
}

TEST(Mount, ReadOnlyAndMissing) {
  Disk disk("mkfs.ext4 -q", "64M");
  if (!disk) GTEST_SKIP() << disk.why();
  const Model model = Model().add("a", 5);
  ASSERT_TRUE(stage(disk / "held", model));
  ASSERT_TRUE(disk.remount("ro").ok);
  for (const char* name : {"m", "new/m"}) {
    const auto outcome = stage(disk / name, model);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ExitCode::kDestination);
    EXPECT_THAT(outcome.error().message, AllOf(HasSubstr(disk.path()), HasSubstr("read-only")));
  }
  const auto held = stage(disk / "held", model);  // a model that is there is there
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_TRUE(held->published_before);
  ASSERT_TRUE(disk.remount("rw").ok);

  const int end = in_child([&] {  // not mounted: the mount point belongs to root
    fs::create_directory(disk / "nvme");
    EXPECT_EQ(::setresuid(65534, 65534, 65534), 0);
    const auto outcome = stage(disk / "nvme/user/m", model);
    EXPECT_FALSE(outcome);
    EXPECT_THAT(outcome.error().message,
                AllOf(HasSubstr(disk / "nvme/user"), HasSubstr("is the file system mounted?")));
  });
  EXPECT_EQ(end, 0);
}

TEST(Mount, AnotherUsersDirectoryIsRefused) {
  const Disk disk("mkfs.ext4 -q", "64M");
  if (!disk) GTEST_SKIP() << disk.why();
  fs::permissions(disk.path(), fs::perms::all);
  const Model model = Model().add("a", 5);
  const auto as = [&](uid_t user, const std::function<void()>& body) {
    return in_child([&] {
      EXPECT_EQ(::setresuid(user, user, user), 0);
      body();
    });
  };
  EXPECT_EQ(as(65533, [&] { EXPECT_TRUE(stage(disk / "m", model)); }), 0);
  EXPECT_EQ(as(65534,
               [&] {
                 const auto outcome = stage(disk / "m", model);
                 EXPECT_FALSE(outcome);
                 EXPECT_THAT(outcome.error().message, HasSubstr("belongs to another user"));
               }),
            0);
}

TEST(Memory, TmpfsWorksAndItsCeilingIsTold) {  // F8
  const Disk disk("tmpfs", "32M");
  if (!disk) GTEST_SKIP() << disk.why();
  const Model model = Model().add("a", 8 * kMiB + 5).add("b", 0);
  const auto outcome = stage(disk / "m", model, kMiB);
  ASSERT_TRUE(outcome) << outcome.error().message;
  expect_model(disk / "m", model);
  EXPECT_TRUE(stage(disk / "m", model)->published_before);
  const auto huge = stage(disk / "n", Model().add("a", 30 * kMiB), kMiB);
  ASSERT_FALSE(huge);
  EXPECT_THAT(huge.error().message, AllOf(HasSubstr("31 MiB needed"), HasSubstr("free")));
}

std::uint64_t dirty_kib() {
  std::ifstream in("/proc/meminfo");
  for (std::string word; in >> word;) {
    std::uint64_t value = 0;
    if (word == "Dirty:" && in >> value) return value;
  }
  return 0;
}

TEST(Memory, BufferedWritesKeepDirtyPagesBounded) {  // F8
  const Disk disk("mkfs.ext4 -q", "800M");
  if (!disk) GTEST_SKIP() << disk.why();
  const Model model = Model().add("a", 512 * kMiB);
  StagingOptions options;
  options.direct = false;
  options.writers = 2;
  auto staging = open_staging(disk / "m", options);
  ASSERT_TRUE((*staging)->presence(model.listing));
  ASSERT_TRUE((*staging)->prepare());
  const AlignedBuffer data = model.bytes(0, 0, 4 * kMiB);
  ::sync();  // what others wrote before goes out now, not while we count
  const std::uint64_t before = dirty_kib();
  Pending pending;
  for (std::uint64_t offset = 0; offset < 512 * kMiB; offset += 4 * kMiB) {
    (*staging)->write({0, offset, 4 * kMiB, data.get(), {}, pending.callback()});
  }
  ASSERT_TRUE(pending.wait());
  // 2 × 64 MiB and what is under way; without flushing all 512 MiB would still be there.
  EXPECT_LT(dirty_kib(), before + (256 << 10));
}

}  // namespace
}  // namespace stage_model::store
