// What the tests of the stores with a flat name space share: a listing as the engine takes it, and
// the cases that must come out alike everywhere (D1, D2, L2). Only for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/plan/names.h"
#include "engine/source/source.h"
#include "tests/integration/http/fetch.h"

namespace stage_model::test {

using Opened = Result<std::unique_ptr<source::Source>>;

// Lists and checks the names, as rank 0 does. `identity`: who it was, if given.
inline Result<plan::Listing> list(const Opened& source, std::string* identity = nullptr) {
  if (!source) return tl::unexpected(source.error());
  auto listing = (*source)->list();
  if (identity != nullptr) *identity = (*source)->identity();
  if (!listing) return listing;
  if (Status status = plan::check_names(*listing, "/d"); !status) {
    return tl::unexpected(status.error());
  }
  return listing;
}

// Whichever step failed; one line without any of `secrets`.
inline std::string error_of(const Result<plan::Listing>& listing,
                            const std::vector<std::string>& secrets) {
  using testing::HasSubstr;
  using testing::Not;
  if (listing) return "no error";
  EXPECT_EQ(listing.error().code, ExitCode::kSource) << listing.error().message;
  EXPECT_THAT(listing.error().message, Not(HasSubstr("\n")));
  for (const std::string& secret : secrets) {
    EXPECT_THAT(listing.error().message, Not(HasSubstr(secret)));
  }
  return listing.error().message;
}

inline std::vector<std::string> names(const plan::Listing& listing) {
  std::vector<std::string> out;
  for (const auto& object : listing.objects) out.push_back(object.name);
  return out;
}

// A5: of a node whose clock is wrong, with both times.
inline std::string clock_of_this_node() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return std::string("the clock of node ") + name.data() + " is wrong: here 2";
}

// A container of its own for each test.
class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    options_.deadline_s = 60;
    options_.block_size = 64 << 10;
  }

  virtual void put(const std::string& key, const std::string& bytes) = 0;
  virtual Opened open(const std::string& path, unsigned page_size = 1000) = 0;
  virtual std::vector<std::string> secrets() const = 0;

  Result<plan::Listing> list(const std::string& path, unsigned page_size = 1000) {
    return test::list(open(path, page_size));
  }
  std::string error(const std::string& path) { return error_of(list(path), secrets()); }

  // N1, N2: list, GET and signature agree on every name, byte by byte.
  void expect_names_arrive(const std::map<std::string, std::string>& model) {
    for (const auto& [name, bytes] : model) put("m/" + name, bytes);
    auto source = open("m/");
    const auto listing = test::list(source);
    ASSERT_TRUE(listing) << listing.error().message;
    std::set<std::string> expected;
    for (const auto& [name, bytes] : model) expected.insert(name);
    const auto found = names(*listing);
    ASSERT_EQ(std::set<std::string>(found.begin(), found.end()), expected);
    auto fetcher = (*source)->fetcher(options_);
    ASSERT_TRUE(fetcher);
    for (const auto& object : listing->objects) {
      const auto bytes = fetch(**fetcher, object);
      ASSERT_TRUE(bytes) << object.name << ": " << bytes.error().message;
      EXPECT_EQ(*bytes, model.at(object.name));
    }
    for (const std::string& secret : secrets()) {
      EXPECT_THAT(listing->source, testing::Not(testing::HasSubstr(secret)));
    }
  }

  // `second`: another rank's source, which `first` has told what it found out.
  void expect_blocks_of_a_large_object(
      const std::function<Opened(const source::Source& first)>& second) {
    std::string bytes(1000000, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
    put("big", bytes);
    auto first = open("");
    const auto listing = test::list(first);
    ASSERT_TRUE(listing) << listing.error().message;
    const auto& object = listing->objects.at(0);
    EXPECT_EQ(object.hash.kind, plan::StoreHash::Kind::kMd5);
    EXPECT_EQ(object.hash.bytes.size(), 16U);

    auto other = second(**first);
    ASSERT_TRUE(other) << other.error().message;
    ASSERT_TRUE((*other)->adopt(listing->resolved));
    ASSERT_TRUE((*other)->accept((*first)->handover()));
    auto fetcher = (*other)->fetcher(options_);
    EXPECT_EQ(*fetch(**fetcher, object), bytes);
    EXPECT_EQ(*fetch(**fetcher, object, 12345, 300000), bytes.substr(12345, 300000));
    const source::Counters counters = (*fetcher)->counters();
    EXPECT_EQ(counters.bytes, 1300000U);  // each byte once
    EXPECT_EQ(counters.requests, 16U + 5U);
  }

  void expect_every_page_is_read() {
    std::set<std::string> expected;
    for (int i = 0; i < 23; ++i) {
      const std::string name = "p/" + std::to_string(i) + "+& =.bin";
      put(name, "x");
      expected.insert(name.substr(2));
    }
    const auto listing = list("p/", 3);
    ASSERT_TRUE(listing) << listing.error().message;
    const auto found = names(*listing);
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
    EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), expected);
  }

  void expect_a_file_that_is_a_directory_is_refused() {
    put("m/data", "0123456789");
    put("m/data/x.bin", "data");
    EXPECT_THAT(error("m/"), testing::HasSubstr("object 'data' is a file and also the directory"));
  }

  void expect_one_object_or_a_prefix() {
    using testing::ElementsAre;
    using testing::HasSubstr;
    put("models/llama.gguf", "weights");
    put("models/llama.gguf.md", "text");
    put("models/llama/a", "a");
    put("models/llama-70b/b", "b");
    auto listing = list("models/llama.gguf");
    ASSERT_TRUE(listing) << listing.error().message;
    EXPECT_THAT(names(*listing), ElementsAre("llama.gguf"));
    for (const char* path : {"models/llama", "models/llama/"}) {
      listing = list(path);
      ASSERT_TRUE(listing) << listing.error().message;
      EXPECT_THAT(names(*listing), ElementsAre("a"));
    }
    EXPECT_THAT(error("models/llama.gguf/"), HasSubstr("nothing found under "));
    put("models/llama.gguf/x", "more");
    testing::internal::CaptureStderr();
    listing = list("models/llama.gguf");
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                HasSubstr("llama.gguf is an object and a directory"));
    ASSERT_TRUE(listing) << listing.error().message;
    EXPECT_THAT(names(*listing), ElementsAre("llama.gguf"));
  }

  void expect_a_change_is_noticed(const std::function<void()>& change) {
    put("m/x", std::string(200000, 'a'));
    auto source = open("m/");
    const auto listing = test::list(source);
    ASSERT_TRUE(listing) << listing.error().message;
    auto fetcher = (*source)->fetcher(options_);
    ASSERT_TRUE(fetch(**fetcher, listing->objects[0], 0, 1000));
    change();
    const auto bytes = fetch(**fetcher, listing->objects[0], 1000, 1000);
    ASSERT_FALSE(bytes);
    EXPECT_THAT(bytes.error().message,
                testing::HasSubstr("object 'x': it changed during the download"));
  }

  source::TransferOptions options_;
  Variables variables_;
};

}  // namespace stage_model::test
