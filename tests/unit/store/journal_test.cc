#include "engine/store/journal.h"

#include <gtest/gtest.h>

#include <string>

namespace stage_model::store {
namespace {

plan::Object object(const std::string& name, std::uint64_t size) {
  plan::Object object;
  object.name = name;
  object.size = size;
  object.etag = "\"e\"";
  return object;
}

JournalHeader header() { return {"/d/m", "az://a/b", {42, 4711, "boot", "pid:[1] time:[2]"}}; }

std::string example() {
  return encode_header(header()) + encode_object(7, object("a\xff", 10'000)) +
         encode_extent(7, {4096, 5904, {1, 2}}) + encode_extent(7, {0, 4096, {3, 4}}) +
         encode_object(9, object("b/c", 1)) + encode_extent(9, {0, 1, {5, 6}});
}

TEST(Journal, ComesBackAsItWent) {
  const auto journal = parse_journal(example());
  ASSERT_TRUE(journal);
  EXPECT_EQ(journal->header.destination, "/d/m");
  EXPECT_EQ(journal->header.source, "az://a/b");
  EXPECT_EQ(journal->header.owner.pid, 42U);
  EXPECT_EQ(journal->header.owner.started, 4711U);
  EXPECT_EQ(journal->header.owner.boot, "boot");
  EXPECT_EQ(journal->header.owner.namespaces, "pid:[1] time:[2]");
  ASSERT_EQ(journal->objects.size(), 2U);
  EXPECT_EQ(journal->objects[0].name, "a\xff");
  EXPECT_EQ(journal->objects[0].etag, "\"e\"");
  ASSERT_EQ(journal->objects[0].extents.size(), 2U);
  EXPECT_EQ(journal->objects[0].extents[0].offset, 4096U);
  EXPECT_EQ(journal->objects[0].extents[0].digest, (Digest{1, 2}));
  EXPECT_EQ(journal->claimed_bytes(), 10'001U);
  EXPECT_FALSE(journal->released);
  EXPECT_TRUE(parse_journal(example() + encode_release())->released);
}

TEST(Journal, ATornTailCostsOnlyItself) {
  const std::string whole = example();
  const std::size_t first = encode_header(header()).size();
  std::size_t before = 0;
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const auto journal = parse_journal(whole.substr(0, length));
    ASSERT_EQ(journal.has_value(), length >= first) << length;
    if (!journal) continue;
    EXPECT_GE(journal->claimed_bytes(), before);
    before = journal->claimed_bytes();
  }
  EXPECT_EQ(before, 10'001U);
  // Zeros, as a power cut leaves them.
  EXPECT_EQ(parse_journal(whole + std::string(4096, '\0'))->claimed_bytes(), 10'001U);
}

TEST(Journal, NoFlippedBitIsBelieved) {
  const std::string whole = example();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    const auto journal = parse_journal(bad);
    if (journal) {
      EXPECT_LT(journal->claimed_bytes(), 10'001U) << i;
    }
  }
}

TEST(Journal, RecordsThatMakeNoSenseEndIt) {
  const std::string start = encode_header(header()) + encode_object(1, object("a", 10'000));
  const std::string good = encode_extent(1, {0, 4096, {}});
  ASSERT_EQ(parse_journal(start + good)->claimed_bytes(), 4096U);
  for (const std::string& bad :
       {encode_extent(2, {0, 1, {}}), encode_extent(1, {0, 0, {}}), encode_extent(1, {1, 1, {}}),
        encode_extent(1, {8192, 1809, {}}), encode_extent(1, {12'288, 1, {}}),
        encode_extent(1, {4096, ~std::uint64_t{0}, {}}), encode_object(1, object("b", 1)),
        encode_object(2, object("../b", 1)), encode_object(2, object("", 1)),
        encode_header(header())}) {
    const auto journal = parse_journal(start + bad + good);
    ASSERT_TRUE(journal);
    EXPECT_EQ(journal->claimed_bytes(), 0U);
    EXPECT_EQ(journal->objects.size(), 1U);
  }
  EXPECT_FALSE(parse_journal(""));
  EXPECT_FALSE(parse_journal("SMJOURN2"));
  JournalHeader nobody = header();
  nobody.owner.pid = 0;
  EXPECT_FALSE(parse_journal(encode_header(nobody)));
}

TEST(Process, KnowsItselfAndTheDead) {
  const Process self = this_process();
  EXPECT_EQ(life_of(self, true), Life::kAlive);
  Process other = self;
  other.started += 1;  // the number was given to another process
  EXPECT_EQ(life_of(other, true), Life::kDead);
  other = self;
  other.boot = "another boot";
  EXPECT_EQ(life_of(other, true), Life::kDead);
  EXPECT_EQ(life_of(other, false), Life::kUnknown);  // or another machine's
  other = self;
  other.namespaces = "pid:[1] time:[1]";
  EXPECT_EQ(life_of(other, true), Life::kUnknown);
}

}  // namespace
}  // namespace stage_model::store
