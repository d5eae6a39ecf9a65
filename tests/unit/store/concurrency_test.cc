// Several jobs, one destination (C1), and a disk that fills up under us (F4) at the seam.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/prctl.h>

#include <atomic>
#include <map>

#include "engine/store/seams.h"
#include "tests/unit/store/support.h"

namespace stage_model::store {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kChunk = 64 << 10;

// A listing must outlive its staging, so each version is made once and kept.
const Model& model(const std::string& etag = "\"1\"") {
  static std::map<std::string, Model> versions;
  Model& model = versions[etag];
  if (model.listing.objects.empty()) {
    model.add("a", 10 * kChunk, etag).add("b/c", 4097, etag).add("d", 0, etag);
  }
  return model;
}

// Starts `count` children that wait for each other right before they publish.
std::vector<int> race(const std::string& destination, int count,
                      const std::function<Model(int)>& model_of) {
  int gate[2];
  int ready[2];
  EXPECT_EQ(::pipe(gate), 0);
  EXPECT_EQ(::pipe(ready), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork_alone();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(gate[1]);
      const Model mine = model_of(i);
      auto staging = open_staging(destination, {});
      auto presence = (*staging)->presence(mine.listing);
      Status status = (*staging)->prepare();
      Extents extents;
      if (status) status = write_missing(staging->get(), mine, *presence, kChunk, &extents);
      if (status) status = (*staging)->seal(extents);
      char byte = 'x';
      if (::write(ready[1], &byte, 1) != 1) ::_exit(3);
      if (::read(gate[0], &byte, 1) != 0) ::_exit(3);  // until the parent closes
      if (status) status = (*staging)->publish();
      if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
      staging->reset();
      ::_exit(status ? 0 : 1);
    }
    children.push_back(child);
  }
  for (int i = 0; i < count; ++i) {
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  }
  ::close(gate[1]);
  std::vector<int> ends;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    ends.push_back(status);
  }
  for (const int fd : {gate[0], ready[0], ready[1]}) ::close(fd);
  return ends;
}

TEST(SeveralJobs, TheSameModelAtOnceAllSucceed) {
  const TempDir dir;
  for (int round = 0; round < 5; ++round) {
    const std::string destination = dir / ("m" + std::to_string(round));
    EXPECT_THAT(race(destination, 4, [](int) { return model(); }), ::testing::Each(0));
    expect_model(destination, model());
    EXPECT_TRUE(stage(destination, model())->published_before);
  }
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());
}

TEST(SeveralJobs, AnUpdateByAllAtOnce) {
  const TempDir dir;
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(stage(dir / "m", model()));
    const Model next = Model().add("a", 10 * kChunk).add("b/c", 4097, "\"2\"").add("d", 0);
    EXPECT_THAT(race(dir / "m", 4, [&](int) { return next; }), ::testing::Each(0));
    expect_model(dir / "m", next);
    EXPECT_THAT(leftovers(dir.path()), IsEmpty());
  }
}

TEST(SeveralJobs, TwoVersionsAtOnceOneOfThemWhole) {
  const TempDir dir;
  for (int round = 0; round < 5; ++round) {
    EXPECT_THAT(race(dir / "m", 4, [](int i) { return model(i % 2 == 0 ? "\"1\"" : "\"2\""); }),
                ::testing::Each(0));
    // Whichever won, it is whole: either it is version 1, or version 1 is staged over it.
    EXPECT_TRUE(stage(dir / "m", model("\"1\"")));
    expect_model(dir / "m", model("\"1\""));
    EXPECT_THAT(leftovers(dir.path()), IsEmpty());
    // Else one of the next round would find its version published, and rightly fail when another
    // job replaces it under its hands.
    fs::remove_all(dir / "m");
  }
}

TEST(SeveralJobs, TheFirstOneCancelledTheSecondUnharmed) {
  const TempDir dir;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t first = fork_alone();
  if (first == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto staging = open_staging(dir / "m", {});
    const Model mine = model();
    auto presence = (*staging)->presence(mine.listing);
    Status status = (*staging)->prepare();
    if (::write(ready[1], "x", 1) != 1 || !status) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  auto staging = open_staging(dir / "m", {});
  auto presence = (*staging)->presence(model().listing);
  ASSERT_TRUE((*staging)->prepare());
  EXPECT_EQ(leftovers(dir.path()).size(), 2U);
  ::kill(first, SIGKILL);
  ::waitpid(first, nullptr, 0);
  Extents extents;
  ASSERT_TRUE(write_missing(staging->get(), model(), *presence, kChunk, &extents));
  ASSERT_TRUE((*staging)->seal(extents));
  ASSERT_TRUE((*staging)->publish());
  expect_model(dir / "m", model());
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());  // the dead one's is gone too
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(SeveralJobs, OnlyOneAdoptsWhatADeadOneLeft) {
  const TempDir dir;
  Seams seams = system_seams();
  std::atomic<int> writes{0};
  seams.pwrite = [&](int fd, const void* data, std::size_t length, off_t offset) {
    if (++writes == 6) ::raise(SIGKILL);
    return ::pwrite(fd, data, length, offset);
  };
  StagingOptions options;
  options.writers = 1;
  ASSERT_EQ(in_child([&] { static_cast<void>(stage(dir / "m", model(), kChunk, options, seams)); }),
            SIGKILL);
  auto a = open_staging(dir / "m", {});
  auto b = open_staging(dir / "m", {});
  const auto pa = (*a)->presence(model().listing);
  const auto pb = (*b)->presence(model().listing);
  EXPECT_EQ(pa->partial[0].size(), 5U);
  EXPECT_EQ(pb->partial[0].size(), 0U);
  ASSERT_TRUE((*b)->prepare());
  ASSERT_TRUE((*a)->prepare());
  for (const auto& [staging, presence] : {std::pair(&a, &pa), std::pair(&b, &pb)}) {
    Extents extents;
    ASSERT_TRUE(write_missing(staging->value().get(), model(), **presence, kChunk, &extents));
    ASSERT_TRUE((*staging)->get()->seal(extents));
    ASSERT_TRUE((*staging)->get()->publish());
  }
  expect_model(dir / "m", model());
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());
}

TEST(SeveralJobs, HeldFilesOfADestinationThatIsReplacedMeanwhile) {
  const TempDir dir;
  ASSERT_TRUE(stage(dir / "m", model()));
  const Model next = Model().add("a", 10 * kChunk).add("b/c", 5000, "\"2\"").add("d", 0);
  auto staging = open_staging(dir / "m", {});
  auto presence = (*staging)->presence(next.listing);
  EXPECT_TRUE(presence->held[0]);
  ASSERT_TRUE(stage(dir / "m", next));  // another job is quicker
  const Status prepared = (*staging)->prepare();
  ASSERT_TRUE(prepared) << prepared.error().message;
  Extents extents;
  ASSERT_TRUE(write_missing(staging->get(), next, *presence, kChunk, &extents));
  const Status sealed = (*staging)->seal(extents);
  ASSERT_TRUE(sealed) << sealed.error().message;
  ASSERT_TRUE((*staging)->publish());
  expect_model(dir / "m", next);
}

TEST(SeveralJobs, APublishedModelThatVanishesIsNoticed) {
  const TempDir dir;
  ASSERT_TRUE(stage(dir / "m", model()));
  auto staging = open_staging(dir / "m", {});
  ASSERT_TRUE((*staging)->presence(model().listing)->published);
  ASSERT_TRUE(stage(dir / "m", model("\"2\"")));
  const Status status = (*staging)->publish();
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("run again"));
}

// F4, where the kernel has no quota.
TEST(DiskFull, QuotaAndSpaceRemoveThePartialData) {
  for (const int error : {EDQUOT, ENOSPC}) {
    const TempDir dir;
    Seams seams = system_seams();
    std::atomic<int> writes{0};
    seams.pwrite = [&](int fd, const void* data, std::size_t length, off_t offset) -> ssize_t {
      if (++writes > 4) {
        errno = error;
        return -1;
      }
      return ::pwrite(fd, data, length, offset);
    };
    const auto outcome = stage(dir / "m", model(), kChunk, {}, seams);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ExitCode::kDestination);
    EXPECT_THAT(outcome.error().message,
                AllOf(HasSubstr(error == EDQUOT ? "quota exceeded" : "no space left"),
                      HasSubstr(dir / "m/a"), HasSubstr("needed"), HasSubstr("free in")));
    EXPECT_TRUE(fs::is_empty(dir.path()));
  }
}

TEST(DiskFull, AnIoErrorNamesTheFileAndKeepsWhatIsProven) {
  const TempDir dir;
  Seams seams = system_seams();
  std::atomic<int> writes{0};
  seams.pwrite = [&](int fd, const void* data, std::size_t length, off_t offset) -> ssize_t {
    if (++writes == 4) {
      errno = EIO;
      return -1;
    }
    return ::pwrite(fd, data, length, offset);
  };
  const auto outcome = stage(dir / "m", model(), kChunk, {}, seams);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, AllOf(HasSubstr(dir / "m/"), HasSubstr("Input/output")));
  EXPECT_FALSE(fs::exists(dir / "m"));
  const auto again = stage(dir / "m", model());
  ASSERT_TRUE(again);
  EXPECT_LE(again->transferred, kChunk);
  expect_model(dir / "m", model());
}

TEST(DiskFull, WhatCannotFitIsSaidBeforeAnythingIsWritten) {
  const TempDir dir;
  const Model huge = Model().add("huge", std::uint64_t{1} << 50);
  const auto outcome = stage(dir / "m", huge);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ExitCode::kDestination);
  EXPECT_THAT(outcome.error().message,
              AllOf(HasSubstr(dir / "m"), HasSubstr("needed"), HasSubstr("free")));
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

}  // namespace
}  // namespace stage_model::store
