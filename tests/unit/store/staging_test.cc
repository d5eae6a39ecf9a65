// The whole way on the file system of /tmp: sizes, names, second runs, what is refused.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "engine/store/seams.h"
#include "engine/store/tree.h"
#include "tests/unit/store/support.h"

namespace stage_model::store {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kChunk = 64 << 10;

Model model_of_sizes() {
  Model model;
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{511}, std::uint64_t{512},
        std::uint64_t{4095}, std::uint64_t{4096}, std::uint64_t{4097}, kChunk - 1, kChunk,
        kChunk + 1, 5 * kChunk + 4095}) {
    char name[32];
    std::snprintf(name, sizeof name, "d/%08lu.bin", static_cast<unsigned long>(size));
    model.add(name, size);
  }
  return model;
}

TEST(Staging, SizesComeOutExact) {  // F1
  for (const bool direct : {true, false}) {
    const TempDir dir;
    StagingOptions options;
    options.direct = direct;
    const Model model = model_of_sizes();
    const auto outcome = stage(dir / "m", model, kChunk, options);
    ASSERT_TRUE(outcome) << outcome.error().message;
    expect_model(dir / "m", model);
    EXPECT_THAT(leftovers(dir.path()), IsEmpty());
    EXPECT_FALSE(fs::exists(dir / "m/.stage-model/journal"));
  }
}

TEST(Staging, ShortWritesAreContinued) {
  const TempDir dir;
  Seams seams = system_seams();
  seams.pwrite = [](int fd, const void* data, std::size_t length, off_t offset) -> ssize_t {
    // Short by an odd number, as a signal or a full page cache may do.
    const std::size_t some = length > 8192 ? length - 4097 : length;
    if (some < length && (::fcntl(fd, F_GETFL) & O_DIRECT) != 0) {
      const ssize_t put = ::pwrite(fd, data, some / 4096 * 4096, offset);
      return put > 4096 ? put - 1 : put;
    }
    return ::pwrite(fd, data, some, offset);
  };
  for (const bool direct : {true, false}) {
    StagingOptions options;
    options.direct = direct;
    const Model model = Model().add("a", 300'001).add("b", 8193);
    const auto outcome = stage(dir / (direct ? "d" : "b"), model, 128 << 10, options, seams);
    ASSERT_TRUE(outcome) << outcome.error().message;
    expect_model(dir / (direct ? "d" : "b"), model);
  }
}

TEST(Staging, DirectRefusedAtTheFirstWriteFallsBack) {
  const TempDir dir;
  Seams seams = system_seams();
  seams.pwrite = [](int fd, const void* data, std::size_t length, off_t offset) -> ssize_t {
    if ((::fcntl(fd, F_GETFL) & O_DIRECT) != 0) {
      errno = EINVAL;
      return -1;
    }
    return ::pwrite(fd, data, length, offset);
  };
  const Model model = model_of_sizes();
  auto staging = open_staging_with(dir / "m", {}, seams);
  ASSERT_TRUE(staging);
  auto presence = (*staging)->presence(model.listing);
  ASSERT_TRUE(presence);
  ASSERT_TRUE((*staging)->prepare());
  Extents extents;
  ASSERT_TRUE(write_missing(staging->get(), model, *presence, kChunk, &extents));
  EXPECT_FALSE((*staging)->direct());
  ASSERT_TRUE((*staging)->seal(extents));
  ASSERT_TRUE((*staging)->publish());
  expect_model(dir / "m", model);
}

TEST(Staging, ASecondRunTransfersNothing) {
  const TempDir dir;
  const Model model = model_of_sizes();
  ASSERT_TRUE(stage(dir / "m", model));
  const auto again = stage(dir / "m", model);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->published_before);
  EXPECT_EQ(again->transferred, 0U);
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());
}

TEST(Staging, OnlyWhatChangedIsTransferredAndTheRestIsLinked) {
  const TempDir dir;
  ASSERT_TRUE(stage(dir / "m", Model().add("a", 100'000).add("b", 5000).add("gone", 7)));
  struct stat before = {};
  ASSERT_EQ(::stat((dir / "m/a").c_str(), &before), 0);

  const Model next = Model().add("a", 100'000).add("b", 4000, "\"2\"").add("new/c", 3);
  const auto outcome = stage(dir / "m", next);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->transferred, 4003U);
  expect_model(dir / "m", next);  // also: "gone" is gone, the longer old b left no tail (F1)
  struct stat after = {};
  ASSERT_EQ(::stat((dir / "m/a").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(after.st_nlink, 1U);
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());

  const auto third = stage(dir / "m", next);
  ASSERT_TRUE(third);
  EXPECT_TRUE(third->published_before);
}

TEST(Staging, FileSystemsWithoutHardLinksGetACopy) {
  const TempDir dir;
  Seams seams = system_seams();
  seams.link = [](int, const char*, int, const char*) {
    errno = EPERM;
    return -1;
  };
  ASSERT_TRUE(stage(dir / "m", Model().add("a", 100'001).add("b", 5000)));
  const Model next = Model().add("a", 100'001).add("b", 4000, "\"2\"");
  const auto outcome = stage(dir / "m", next, kChunk, {}, seams);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->transferred, 4000U);
  expect_model(dir / "m", next);
  const auto third = stage(dir / "m", next);
  ASSERT_TRUE(third);
  EXPECT_TRUE(third->published_before);
}

TEST(Staging, CompareSaysWhatCounts) {
  const TempDir dir;
  const Model model = Model().add("a", 1000).add("b", 2000, "");
  ASSERT_TRUE(stage(dir / "m", model));
  const auto presence = [&](Compare compare, const Model& now) {
    StagingOptions options;
    options.compare = compare;
    auto staging = open_staging(dir / "m", options);
    EXPECT_TRUE(staging);
    auto found = (*staging)->presence(now.listing);
    EXPECT_TRUE(found);
    return *found;
  };
  using Held = std::vector<bool>;
  EXPECT_EQ(presence(Compare::kEtag, model).held, (Held{true, false}));  // no ETag proves nothing
  EXPECT_EQ(presence(Compare::kSize, model).held, (Held{true, true}));
  EXPECT_TRUE(presence(Compare::kSize, model).published);
  EXPECT_EQ(presence(Compare::kNone, model).held, (Held{false, false}));
  const Model changed = Model().add("a", 1000, "\"2\"").add("b", 2001, "");
  EXPECT_EQ(presence(Compare::kEtag, changed).held, (Held{false, false}));
  EXPECT_EQ(presence(Compare::kSize, changed).held, (Held{true, false}));
  // Another model with the same names and sizes, as fine-tunes are.
  const Model other = Model("az://acct/models/other").add("a", 1000).add("b", 2000, "");
  EXPECT_EQ(presence(Compare::kSize, other).held, (Held{false, false}));
  EXPECT_EQ(presence(Compare::kEtag, other).held, (Held{false, false}));
}

// Else the run after it would find the old bytes current, for ever.
TEST(Staging, WhatIsHeldByItsSizeKeepsItsETag) {
  const TempDir dir;
  const Model old = Model().add("a", 100'000).add("b", 2000);
  ASSERT_TRUE(stage(dir / "m", old));
  const Model next = Model().add("a", 100'000, "\"2\"").add("b", 3000, "\"2\"");
  StagingOptions options;
  options.compare = Compare::kSize;
  const auto by_size = stage(dir / "m", next, 64 << 10, options);
  ASSERT_TRUE(by_size) << by_size.error().message;
  EXPECT_EQ(by_size->transferred, 3000U);
  const auto after = stage(dir / "m", next);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->transferred, 100'000U);
  expect_model(dir / "m", next);
}

TEST(Staging, WhatIsForgottenIsWritten) {
  const TempDir dir;
  ASSERT_TRUE(stage(dir / "m", Model().add("a", 1000).add("b", 2000)));
  const Model next = Model().add("a", 1000, "\"2\"").add("b", 2000);
  StagingOptions options;
  options.compare = Compare::kSize;
  auto staging = open_staging(dir / "m", options);
  ASSERT_TRUE(staging);
  auto presence = (*staging)->presence(next.listing);
  ASSERT_TRUE(presence && presence->published);
  EXPECT_EQ(presence->other_version, (std::vector<bool>{true, false}));
  (*staging)->forget(0);
  presence->published = presence->held[0] = false;
  Extents extents;
  std::uint64_t transferred = 0;
  ASSERT_TRUE((*staging)->check_space(1000, 1) && (*staging)->prepare());
  ASSERT_TRUE(write_missing(staging->get(), next, *presence, 64 << 10, &extents, &transferred));
  ASSERT_TRUE((*staging)->seal(extents) && (*staging)->publish());
  EXPECT_EQ(transferred, 1000U);
  expect_model(dir / "m", next);
  const auto again = stage(dir / "m", next);
  EXPECT_TRUE(again && again->published_before);
}

TEST(Staging, AFileChangedByHandIsNotHeld) {
  const Model model = Model().add("a", 1000).add("b", 2000).add("c", 3000).add("d/e", 10);
  const auto held_after = [&](const std::function<void(const std::string&)>& harm) -> bool {
    const TempDir dir;
    EXPECT_TRUE(stage(dir / "m", model));
    harm(dir / "m");
    auto staging = open_staging(dir / "m", {});
    EXPECT_TRUE(staging);
    auto presence = (*staging)->presence(model.listing);
    EXPECT_TRUE(presence);
    EXPECT_FALSE(presence->published);
    staging->reset();
    const auto again = stage(dir / "m", model);
    EXPECT_TRUE(again) << again.error().message;
    expect_model(dir / "m", model);
    return presence->held[1];
  };
  EXPECT_FALSE(held_after([](const auto& m) { fs::remove(m + "/b"); }));
  EXPECT_FALSE(held_after([](const auto& m) { std::ofstream(m + "/b", std::ios::app) << "x"; }));
  EXPECT_FALSE(held_after([](const auto& m) {  // same size, in place
    std::fstream(m + "/b", std::ios::in | std::ios::out) << "x";
  }));
  EXPECT_FALSE(held_after([](const auto& m) {  // a link to the right bytes
    fs::rename(m + "/b", m + "/x");
    fs::create_symlink("x", m + "/b");
  }));
  EXPECT_FALSE(held_after([](const auto& m) {  // F6: what opens would hang on
    fs::remove(m + "/b");
    EXPECT_EQ(::mkfifo((m + "/b").c_str(), 0600), 0);
  }));
  EXPECT_FALSE(held_after([](const auto& m) {
    fs::remove(m + "/b");
    fs::create_directory(m + "/b");
  }));
  EXPECT_FALSE(
      held_after([](const auto& m) { fs::resize_file(m + "/.stage-model/manifest", 99); }));
  EXPECT_FALSE(held_after([](const auto& m) { spit(m + "/.stage-model/manifest", ""); }));
}

TEST(Staging, NamesAreBytes) {  // N7 and friends
  const TempDir dir;
  std::string umlauts;
  for (int i = 0; i < 127; ++i) umlauts += "\xc3\xa4";  // 254 bytes
  Model model;
  model.add("a b%20c#?+\"\\.bin", 10)
      .add("new\nline", 11)
      .add("not\xff\xfe utf8", 12)
      .add("sub/" + std::string(250, 'x'), 13)
      .add("sub/" + std::string(255, 'y'), 14)
      .add(umlauts, 15);
  const std::string destination = dir / std::string(255, 'D');
  const auto outcome = stage(destination, model);
  ASSERT_TRUE(outcome) << outcome.error().message;
  expect_model(destination, model);
  const auto again = stage(destination, model);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->published_before);
}

TEST(Staging, NamesThatCannotBeAreRefusedBeforeAnythingIsWritten) {
  for (const std::string& name : {std::string(256, 'x'), std::string("d/") + std::string(256, 'y'),
                                  std::string("../x"), std::string("/x"), std::string("a//b"),
                                  std::string(".stage-model/manifest"), std::string("nul\0x", 5)}) {
    const TempDir dir;
    const auto outcome = stage(dir / "m", Model().add(name, 1));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ExitCode::kDestination);
    EXPECT_TRUE(fs::is_empty(dir.path()));
  }
  std::string deep;
  for (int i = 0; i < 2050; ++i) deep += "a/";
  const TempDir dir;
  const auto outcome = stage(dir / "m", Model().add(deep + "b", 1));
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("longer than"));
}

TEST(Staging, EmptyDirectoriesAreMade) {
  const TempDir dir;
  Model model;
  model.add("x/y", 1);
  model.listing.directories = {"empty/inner", "x"};
  ASSERT_TRUE(stage(dir / "m", model));
  EXPECT_TRUE(fs::is_directory(dir / "m/empty/inner"));
  EXPECT_TRUE(stage(dir / "m", model)->published_before);
  fs::remove(dir / "m/empty/inner");
  const auto again = stage(dir / "m", model);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->published_before);
  EXPECT_EQ(again->transferred, 0U);
  EXPECT_TRUE(fs::is_directory(dir / "m/empty/inner"));
}

TEST(Staging, ModesDoNotDependOnUmask) {  // F5
  const TempDir dir;
  EXPECT_EQ(in_child([&] {
              ::umask(0077);
              Model model;
              model.add("sub/a", 10);
              model.listing.directories = {"empty"};
              const auto outcome = stage(dir / "new/parent/m", model);
              EXPECT_TRUE(outcome) << outcome.error().message;
            }),
            0);
  const auto mode = [&](const std::string& name) {
    struct stat st = {};
    EXPECT_EQ(::stat((dir / name).c_str(), &st), 0) << name;
    return st.st_mode & 07777;
  };
  for (const char* name : {"new", "new/parent", "new/parent/m", "new/parent/m/sub",
                           "new/parent/m/empty", "new/parent/m/.stage-model"}) {
    EXPECT_EQ(mode(name), 0755U) << name;
  }
  EXPECT_EQ(mode("new/parent/m/sub/a"), 0644U);
  EXPECT_EQ(mode("new/parent/m/.stage-model/manifest"), 0644U);
}

TEST(Staging, ReadsBackWhatItHoldsAndWrote) {
  const TempDir dir;
  const Model model = model_of_sizes();
  const auto check = [&](Staging* staging) {
    for (std::uint32_t i = 0; i < model.listing.objects.size(); ++i) {
      const std::uint64_t size = model.listing.objects[i].size;
      const AlignedBuffer target = make_aligned(size);
      const Status status = staging->read(i, 0, size, target.get());
      ASSERT_TRUE(status) << status.error().message;
      const AlignedBuffer want = model.bytes(i, 0, size);
      EXPECT_EQ(std::memcmp(target.get(), want.get(), size), 0);
    }
  };
  {
    auto staging = open_staging(dir / "m", {});
    auto presence = (*staging)->presence(model.listing);
    ASSERT_TRUE((*staging)->prepare());
    Extents extents;
    ASSERT_TRUE(write_missing(staging->get(), model, *presence, kChunk, &extents));
    check(staging->get());
    ASSERT_TRUE((*staging)->seal(extents));
    check(staging->get());
    ASSERT_TRUE((*staging)->publish());
    check(staging->get());
    EXPECT_TRUE((*staging)->save("report.json", "{}\n"));
    EXPECT_FALSE((*staging)->save("manifest", "{}\n"));
    EXPECT_FALSE((*staging)->save("../x", "{}\n"));
  }
  EXPECT_EQ(slurp(dir / "m/.stage-model/report.json"), "{}\n");
  auto staging = open_staging(dir / "m", {});
  ASSERT_TRUE((*staging)->presence(model.listing)->published);
  ASSERT_TRUE((*staging)->prepare());
  check(staging->get());
  EXPECT_TRUE((*staging)->publish());
  EXPECT_TRUE((*staging)->save("report.json", "{\"again\":1}\n"));
}

TEST(Staging, AGapIsNeverSealed) {
  const TempDir dir;
  const Model model = Model().add("a", 200'000);
  auto staging = open_staging(dir / "m", {});
  auto presence = (*staging)->presence(model.listing);
  ASSERT_TRUE((*staging)->prepare());
  Extents extents;
  ASSERT_TRUE(write_missing(staging->get(), model, *presence, kChunk, &extents));
  Extents gap = extents;
  gap[0].erase(gap[0].begin() + 1);
  Extents missing(1);
  for (const Extents& bad : {gap, missing}) {
    const Status status = (*staging)->seal(bad);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ExitCode::kIntegrity);
    EXPECT_FALSE((*staging)->publish());
  }
  EXPECT_FALSE(fs::exists(dir / "m"));
  ASSERT_TRUE((*staging)->seal(extents));
  ASSERT_TRUE((*staging)->publish());
}

TEST(Staging, WritesThatDoNotFitAreRefused) {
  const TempDir dir;
  const Model model = Model().add("a", 5000).add("b", 10);
  auto staging = open_staging(dir / "m", {});
  ASSERT_TRUE((*staging)->presence(model.listing));
  ASSERT_TRUE((*staging)->prepare());
  const AlignedBuffer data = make_aligned(8192);
  const auto attempt = [&](std::uint32_t object, std::uint64_t offset, std::uint64_t length,
                           std::size_t shift) {
    Status result;
    Write write{object, offset, length, data.get() + shift, {}, [&](Status s) { result = s; }};
    (*staging)->write(std::move(write));
    return result.has_value();
  };
  EXPECT_FALSE(attempt(2, 0, 10, 0));
  EXPECT_FALSE(attempt(0, 100, 10, 0));
  EXPECT_FALSE(attempt(0, 4096, 4096, 0));
  EXPECT_FALSE(attempt(0, 0, 4096, 8));
  EXPECT_FALSE(attempt(0, 8192, 1, 0));
}

TEST(Staging, ManySmallFiles) {
  const TempDir dir;
  struct rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const struct rlimit low = {256, limit.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &low);  // must do with few descriptors
  Model model;
  for (int i = 0; i < 20'000; ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "shard-%03d/part-%05d.bin", i / 100, i);
    model.add(name, static_cast<std::uint64_t>(i % 97));
  }
  const auto outcome = stage(dir / "m", model);
  ASSERT_TRUE(outcome) << outcome.error().message;
  expect_model(dir / "m", model);
  const auto again = stage(dir / "m", model);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->published_before);
}

TEST(Destination, WhatIsNotOursIsRefused) {
  const TempDir dir;
  const auto message = [&](const std::string& destination) {
    const auto outcome = stage(destination, Model().add("a", 1));
    EXPECT_FALSE(outcome) << destination;
    return outcome ? std::string() : outcome.error().message;
  };
  EXPECT_THAT(message("relative/path"), HasSubstr("absolute"));
  EXPECT_THAT(message(""), HasSubstr("absolute"));
  EXPECT_THAT(message("/"), HasSubstr("root directory"));
  EXPECT_THAT(message(dir / "a/../b"), HasSubstr(".."));
  EXPECT_THAT(message(dir / ".stage-model-x"), HasSubstr("ours"));

  spit(dir / "file", "x");
  EXPECT_THAT(message(dir / "file"), HasSubstr("not a directory"));
  EXPECT_THAT(message(dir / "file/m"), HasSubstr("a part of the path is a file"));
  EXPECT_THAT(message(dir / (std::string(256, 'x') + "/m")), HasSubstr("too long"));
  EXPECT_THAT(message(dir / std::string(256, 'x')), HasSubstr("too long"));

  fs::create_directory(dir / "target");  // F6
  fs::create_directory_symlink("target", dir / "link");
  EXPECT_THAT(message(dir / "link"), HasSubstr("symbolic link"));
  EXPECT_THAT(message(dir / "link/"), HasSubstr("symbolic link"));
  EXPECT_TRUE(fs::is_empty(dir / "target"));

  fs::create_directory(dir / "foreign");
  spit(dir / "foreign/thesis.tex", "x");
  EXPECT_THAT(message(dir / "foreign"), HasSubstr("not from stage-model"));
  EXPECT_TRUE(fs::exists(dir / "foreign/thesis.tex"));
  EXPECT_THAT(leftovers(dir.path()), IsEmpty());
}

TEST(Destination, EmptyAndLinkedParentsAreFine) {
  const TempDir dir;
  const Model model = Model().add("a", 5000);
  fs::create_directory(dir / "empty");
  ASSERT_TRUE(stage(dir / "empty", model));
  expect_model(dir / "empty", model);
  fs::create_directory_symlink("empty", dir / "way");
  fs::create_directory(dir / "real");
  fs::create_directory_symlink("real", dir / "scratch");
  const auto outcome = stage(dir / "scratch//./m/", model);
  ASSERT_TRUE(outcome) << outcome.error().message;
  expect_model(dir / "real/m", model);
}

TEST(Destination, ALinkSwappedInIsNotFollowed) {  // F6
  const TempDir dir;
  fs::create_directory(dir / "victim");
  spit(dir / "victim/precious", "x");
  const Model model = Model().add("a", 5000);
  auto staging = open_staging(dir / "m", {});
  auto presence = (*staging)->presence(model.listing);
  ASSERT_TRUE((*staging)->prepare());
  fs::create_directory_symlink("victim", dir / "m");
  Extents extents;
  ASSERT_TRUE(write_missing(staging->get(), model, *presence, kChunk, &extents));
  ASSERT_TRUE((*staging)->seal(extents));
  const Status status = (*staging)->publish();
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("symbolic link"));
  EXPECT_TRUE(fs::is_symlink(dir / "m"));
  EXPECT_EQ(slurp(dir / "victim/precious"), "x");
}

TEST(Destination, ADirectorySwappedForALinkIsNotWrittenThrough) {  // F6
  const TempDir dir;
  fs::create_directory(dir / "victim");
  const Model model = Model().add("d/a", 5000);
  auto staging = open_staging(dir / "m", {});
  auto presence = (*staging)->presence(model.listing);
  ASSERT_TRUE((*staging)->prepare());
  const std::string temp = dir / leftovers(dir.path()).at(0);
  fs::rename(temp + "/d/a", dir / "victim/a");
  fs::resize_file(dir / "victim/a", 0);
  fs::remove(temp + "/d");
  fs::create_directory_symlink(dir / "victim", temp + "/d");
  Extents extents;
  EXPECT_FALSE(write_missing(staging->get(), model, *presence, kChunk, &extents));
  EXPECT_EQ(fs::file_size(dir / "victim/a"), 0U);
}

TEST(Destination, WhatTookItsPlaceInTheLastInstantIsGivenBack) {
  const TempDir dir;
  const Model old = Model().add("a", 5000);
  ASSERT_TRUE(stage(dir / "m", old));
  Seams seams = system_seams();
  bool swapped = false;
  seams.rename = [&](int parent, const char* from, const char* to, unsigned flags) {
    if (!swapped) {
      swapped = true;
      fs::rename(dir / "m", dir / "away");
      fs::create_directory(dir / "m");
      spit(dir / "m/thesis.tex", "x");
    }
    return ::renameat2(parent, from, parent, to, flags);
  };
  const auto outcome = stage(dir / "m", Model().add("a", 5000, "\"2\""), kChunk, {}, seams);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("not from stage-model"));
  EXPECT_EQ(slurp(dir / "m/thesis.tex"), "x");
}

TEST(Publish, WorksWithoutRenameFlags) {
  const TempDir dir;
  Seams seams = system_seams();
  seams.rename = [](int, const char*, const char*, unsigned) {
    errno = EINVAL;
    return -1;
  };
  for (const char* etag : {"\"1\"", "\"2\"", "\"3\""}) {
    const Model model = Model().add("a", 5000, etag);
    const auto outcome = stage(dir / "m", model, kChunk, {}, seams);
    ASSERT_TRUE(outcome) << outcome.error().message;
    expect_model(dir / "m", model);
    EXPECT_THAT(leftovers(dir.path()), IsEmpty());
  }
}

}  // namespace
}  // namespace stage_model::store
