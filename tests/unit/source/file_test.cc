#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "engine/source/source.h"

namespace stage_model::source {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class SourceFile : public testing::Test {
 protected:
  SourceFile() {
    std::string name = (fs::temp_directory_path() / "stage-file-XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  ~SourceFile() override { fs::remove_all(directory_); }

  void write(const std::string& name, const std::string& bytes) {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name, std::ios::binary) << bytes;
  }

  std::unique_ptr<Source> open(const std::string& name = "") {
    return std::move(*open_source("file://" + (directory_ / name).string(), {}, {}));
  }

  std::string error(const std::string& name = "") {
    const auto listing = open(name)->list();
    if (listing) return "no error";
    EXPECT_EQ(listing.error().code, ExitCode::kSource);
    return listing.error().message;
  }

  static Result<std::string> fetch(Fetcher& fetcher, const plan::Object& object,
                                   std::uint64_t offset, std::uint64_t length) {
    std::string bytes(length, '\0');
    std::promise<Status> done;
    Fetch fetch;
    fetch.object = &object;
    fetch.offset = offset;
    fetch.length = length;
    fetch.target = reinterpret_cast<std::byte*>(bytes.data());
    fetch.done = [&done](Status status) { done.set_value(std::move(status)); };
    fetcher.start(std::move(fetch));
    if (Status status = done.get_future().get(); !status) return tl::unexpected(status.error());
    return bytes;
  }

  fs::path directory_;
};

TEST_F(SourceFile, ListsATreeAndReadsIt) {
  std::string big(300000, '\0');
  for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * 31);
  write("a b%20#.bin", "one");
  write("deep/er/big", big);
  write("empty", "");
  fs::create_directories(directory_ / "hollow");
  write(".stage-model/manifest", "of an earlier staging");
  fs::create_symlink("deep/er/big", directory_ / "link");

  auto source = open();
  const auto listing = source->list();
  ASSERT_TRUE(listing) << listing.error().message;
  std::vector<std::string> names;
  for (const auto& object : listing->objects) names.push_back(object.name);
  EXPECT_THAT(names, ElementsAre("a b%20#.bin", "deep/er/big", "empty", "link"));
  EXPECT_THAT(listing->directories, ElementsAre("deep", "deep/er", "hollow"));

  TransferOptions options;
  options.block_size = 4096;
  options.concurrency = 4;
  auto fetcher = source->fetcher(options);
  ASSERT_TRUE(fetcher);
  EXPECT_EQ(*fetch(**fetcher, listing->objects[1], 0, big.size()), big);
  EXPECT_EQ(*fetch(**fetcher, listing->objects[3], 12345, 100000), big.substr(12345, 100000));
  EXPECT_EQ((*fetcher)->counters().bytes, 400000U);
}

TEST_F(SourceFile, OneFile) {
  write("llama.gguf", "weights");
  const auto listing = open("llama.gguf")->list();
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_EQ(listing->objects.at(0).name, "llama.gguf");
  EXPECT_EQ(listing->objects.at(0).size, 7U);
}

TEST_F(SourceFile, WhatIsNoFileIsRefused) {
  EXPECT_THAT(error(), HasSubstr("nothing found under file://"));
  EXPECT_THAT(error("missing"), HasSubstr("No such file"));
  write("x", "data");
  fs::create_symlink("nowhere", directory_ / "dangling");
  EXPECT_THAT(error(), HasSubstr("dangling: is a link that leads nowhere"));
  fs::remove(directory_ / "dangling");
  fs::create_directory_symlink("/", directory_ / "loop");
  EXPECT_THAT(error(), HasSubstr("loop: is a link to a directory"));
  fs::remove(directory_ / "loop");
  ASSERT_EQ(mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(error(), HasSubstr("fifo: is neither a file nor a directory"));
}

TEST_F(SourceFile, AChangeAfterTheListIsNoticed) {
  write("x", "0123456789");
  auto source = open();
  const auto listing = source->list();
  ASSERT_TRUE(listing);
  auto fetcher = source->fetcher({});
  ASSERT_TRUE(fetch(**fetcher, listing->objects[0], 0, 10));
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (directory_ / "x").c_str(), times, 0), 0);
  const auto bytes = fetch(**fetcher, listing->objects[0], 0, 10);
  ASSERT_FALSE(bytes);
  EXPECT_THAT(bytes.error().message, HasSubstr("x': it changed during the download"));
  fs::remove(directory_ / "x");
  EXPECT_FALSE(fetch(**fetcher, listing->objects[0], 0, 10));
}

TEST_F(SourceFile, OnlyTheSameDirectoryIsReachable) {
  write("here/x", "data");
  write("copy/x", "data");
  auto first = open("here");
  const auto listing = first->list();
  ASSERT_TRUE(listing);
  EXPECT_TRUE(first->reachable());
  auto same = open("here");
  ASSERT_TRUE(same->adopt(listing->resolved));
  EXPECT_TRUE(same->reachable());
  auto copy = open("copy");  // as on a node with a directory of its own at that path
  ASSERT_TRUE(copy->adopt(listing->resolved));
  EXPECT_FALSE(copy->reachable());
  auto none = open("none");
  ASSERT_TRUE(none->adopt(listing->resolved));
  EXPECT_FALSE(none->reachable());
}

TEST_F(SourceFile, DestructionEndsWhatIsQueued) {
  write("x", std::string(1 << 20, 'x'));
  auto source = open();
  const auto listing = source->list();
  TransferOptions options;
  options.block_size = 4096;
  options.concurrency = 1;
  options.max_bandwidth = 1000;  // the second block waits
  auto fetcher = source->fetcher(options);
  std::string bytes(1 << 20, '\0');
  std::promise<Status> done;
  Fetch fetch;
  fetch.object = &listing->objects[0];
  fetch.length = bytes.size();
  fetch.target = reinterpret_cast<std::byte*>(bytes.data());
  fetch.done = [&done](Status status) { done.set_value(std::move(status)); };
  (*fetcher)->start(std::move(fetch));
  fetcher->reset();
  const Status status = done.get_future().get();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ExitCode::kStopped);
}

TEST(SourceFileUrl, TakesAbsolutePathsOnly) {
  EXPECT_FALSE(open_source("file://host/path", {}, {}));
  EXPECT_FALSE(open_source("file://", {}, {}));
}

}  // namespace
}  // namespace stage_model::source
