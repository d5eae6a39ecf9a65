#include "engine/source/entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/plan/names.h"

namespace stage_model::source {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Entry file(std::string key, std::uint64_t size) {
  Entry entry;
  entry.key = std::move(key);
  entry.size = size;
  return entry;
}

Entry directory(std::string key) {
  Entry entry = file(std::move(key), 0);
  entry.directory = true;
  return entry;
}

std::string refusal(std::vector<Entry> entries) {
  const auto listing = make_listing(std::move(entries), "m/", "URL");
  if (listing) {
    const Status names = plan::check_names(*listing, "/d");
    return names ? "accepted" : names.error().message;
  }
  EXPECT_EQ(listing.error().code, ExitCode::kSource);
  return listing.error().message;
}

TEST(SourceEntries, SortsBytewiseAndStripsThePrefix) {
  const auto listing = make_listing(
      {file("m/b", 1), file("m/a/x", 2), file("m/a-b", 3), file("m/\xc3\xa4", 4)}, "m/", "URL");
  ASSERT_TRUE(listing);
  std::vector<std::string> names;
  for (const auto& object : listing->objects) names.push_back(object.name);
  EXPECT_THAT(names, ElementsAre("a-b", "a/x", "b", "\xc3\xa4"));
  EXPECT_EQ(listing->objects[1].key, "m/a/x");
  EXPECT_EQ(listing->source, "URL");
}

TEST(SourceEntries, MarkersAreDirectories) {
  const auto listing = make_listing(
      {file("m/", 0), file("m/a", 0), file("m/a/x", 1), file("m/b/", 0), directory("m/c"),
       directory("m/d"), file("m/d/y", 1), file("m/empty", 0), file("m/e", 0), file("m/e/", 0)},
      "m/", "URL");
  ASSERT_TRUE(listing) << listing.error().message;
  std::vector<std::string> names;
  for (const auto& object : listing->objects) names.push_back(object.name);
  EXPECT_THAT(names, ElementsAre("a/x", "d/y", "empty"));
  EXPECT_THAT(listing->directories, ElementsAre("a", "b", "c", "d", "e"));
}

TEST(SourceEntries, WhatCannotBeIsRefused) {
  EXPECT_THAT(refusal({file("m/a", 10), file("m/a/x", 1)}), HasSubstr("'a' is a file and also"));
  EXPECT_THAT(refusal({file("m/a", 10), file("m/a/", 0)}), HasSubstr("'a' is a file and also"));
  EXPECT_THAT(refusal({file("m/a/", 10)}), HasSubstr("marked as a directory but holds 10 B"));
  EXPECT_THAT(refusal({file("n/a", 1)}), HasSubstr("outside the prefix"));
  EXPECT_THAT(refusal({file("m/a", 1), file("m/a", 1)}), HasSubstr("listed twice"));
  EXPECT_THAT(refusal({}), HasSubstr("nothing found under URL"));
  const auto encoded = make_listing({}, "my%20model/", "URL");
  ASSERT_FALSE(encoded);
  EXPECT_THAT(encoded.error().message, HasSubstr("write names as they are"));
  const auto pattern = make_listing({}, "model/*/", "URL");
  ASSERT_FALSE(pattern);
  EXPECT_THAT(pattern.error().message, HasSubstr("patterns go to --include"));
  EXPECT_THAT(refusal({}), testing::Not(HasSubstr("write names as they are")));
  EXPECT_THAT(refusal({file("m/", 0), directory("m/d")}), HasSubstr("nothing found under URL"));
  Entry archived = file("m/old", 1);
  archived.archived = true;
  EXPECT_THAT(refusal({file("m/a", 1), archived}), HasSubstr("'old' is archived"));
}

TEST(SourceEntries, MessagesAreOneLine) {
  EXPECT_THAT(refusal({file("n/a\nb\x1b", 1)}), HasSubstr("'n/a\\x0ab\\x1b'"));
}

TEST(SourceEntries, OneObjectHasItsLastPartAsName) {
  EXPECT_EQ(make_single(file("m/llama.gguf", 5), "URL")->objects.at(0).name, "llama.gguf");
  EXPECT_EQ(make_single(file("x", 5), "URL")->objects.at(0).name, "x");
}

}  // namespace
}  // namespace stage_model::source
