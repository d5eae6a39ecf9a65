// The Azure source against a server that misbehaves (cases L2, D1, H7, H8, A5, A6, T1).
#include <algorithm>

#include "engine/plan/filter.h"
#include "engine/source/azure.h"
#include "tests/integration/http/store_test.h"
#include "tests/support/child.h"

namespace stage_model::source {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

test::RudeServer& server() {
  static test::RudeServer instance;
  return instance;
}

class RudeAzure : public testing::Test {
 protected:
  RudeAzure() { options_.deadline_s = 60; }

  test::Opened open(const std::string& path) {
    return open_azure("az://acct/" + path,
                      {{"AZURE_STORAGE_BLOB_ENDPOINT", server().origin() + "/acct"},
                       {"AZURE_STORAGE_SAS_TOKEN", "sv=2021-08-06&sig=SECRET"},
                       {"no_proxy", "*"}},
                      options_, 5000);
  }

  Result<plan::Listing> list(const std::string& path) { return test::list(open(path)); }
  std::string error(const std::string& path) { return test::error_of(list(path), {"SECRET"}); }

  TransferOptions options_;
};

TEST_F(RudeAzure, MarkersOfPagesAreOpaque) {
  const auto listing = list("markers/m/");
  ASSERT_TRUE(listing) << listing.error().message;
  ASSERT_EQ(listing->objects.size(), 4U);
  EXPECT_EQ(listing->objects[3].name, "3");
}

TEST_F(RudeAzure, AListWithoutEndEnds) {
  EXPECT_THAT(error("endless/m/"), HasSubstr("list does not end"));
}

TEST_F(RudeAzure, NamesOutsideThePrefixAreRefused) {
  EXPECT_THAT(error("foreign/p/"), HasSubstr("'q/evil' is listed by the server, but lies outside"));
}

TEST_F(RudeAzure, AnArchivedBlobIsRefusedUpFront) {
  EXPECT_THAT(error("archive/a/"), HasSubstr("object 'y' is archived"));
}

TEST_F(RudeAzure, AnArchivedBlobThatIsExcludedIsNobodysConcern) {
  auto source = open("archive/a/");
  ASSERT_TRUE(source);
  auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  plan::Filter filter;
  filter.exclude = {"y"};
  ASSERT_TRUE(plan::apply_filter(filter, *listing));
  EXPECT_TRUE(plan::check_names(*listing, "/d"));
}

TEST_F(RudeAzure, DirectoriesOfHierarchicalNamespaces) {
  const auto listing = list("gen2/g");
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_EQ(listing->objects.at(0).name, "f");
}

TEST_F(RudeAzure, SizesBeyond32BitsAndRangesInThem) {
  auto source = open("huge/h/");
  ASSERT_TRUE(source);
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  std::vector<std::uint64_t> sizes;
  for (const auto& object : listing->objects) sizes.push_back(object.size);
  EXPECT_THAT(sizes,
              ElementsAre((1ULL << 31) - 1, 1ULL << 31, 1ULL << 32, (1ULL << 32) + 1, 6ULL << 40));
  auto fetcher = (*source)->fetcher(options_);
  // In each object: across 2^31 and 2^32 where it has them, and its last bytes.
  constexpr std::uint64_t kTwoGiB = std::uint64_t{1} << 31;
  std::size_t fetched = 0;
  for (const auto& object : listing->objects) {
    for (const std::uint64_t offset :
         {kTwoGiB - 10, 2 * kTwoGiB - 10, 2 * kTwoGiB - 1, object.size - 20}) {
      if (offset >= object.size) continue;
      const std::uint64_t length = std::min<std::uint64_t>(20, object.size - offset);
      const auto bytes = test::fetch(**fetcher, object, offset, length);
      ASSERT_TRUE(bytes) << bytes.error().message;
      ++fetched;
      for (std::uint64_t i = 0; i < length; ++i) {
        EXPECT_EQ(static_cast<unsigned char>((*bytes)[i]), (offset + i) % 251);
      }
    }
  }
  EXPECT_EQ(fetched, 2U + 2U + 4U + 4U + 4U);
}

TEST_F(RudeAzure, SizesThatAreNoneAreRefused) {
  EXPECT_THAT(error("negative/n/"),
              HasSubstr("object 'a' has no valid size in the server's list: '-1'"));
  EXPECT_THAT(error("overflow/n/"), HasSubstr("'a' has no valid size"));
}

TEST_F(RudeAzure, AThrottledListIsWaitedFor) {
  EXPECT_TRUE(list("busy-twice/p/"));
  EXPECT_TRUE(list("busy-timeout/p/"));
}

TEST_F(RudeAzure, WhatIsNoListIsSaid) {
  EXPECT_THAT(error("not-xml/p/"), HasSubstr("not a list of blobs"));
}

TEST_F(RudeAzure, AWrongClockIsNamedWithBothTimes) {
  EXPECT_THAT(error("skewed/p/"),
              AllOf(HasSubstr(test::clock_of_this_node()), HasSubstr("Z, at the server 2")));
}

TEST_F(RudeAzure, EveryKindOf403SaysWhatToDo) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"denied-403-authorizationfailure", "a firewall or private endpoint rule"},
      {"denied-403-authorizationpermissionmismatch", "Storage Blob Data Reader"},
      {"denied-409-publicaccessnotpermitted",
       "no public access, and no identity was found: set AZURE_STORAGE_SAS_TOKEN"},
      {"denied-403-keybasedauthenticationnotpermitted", "does not accept keys"},
      {"denied-403-authenticationfailed", "the key or signature is not accepted"},
      {"denied-404-containernotfound", "there is no container"},
  };
  for (const auto& [container, advice] : cases) {
    const std::string message = error(container + "/p/");
    EXPECT_THAT(message, AllOf(HasSubstr(advice), HasSubstr("HTTP " + container.substr(7, 3)),
                               HasSubstr("request id abc-123"), HasSubstr("as SAS")));
  }
}

}  // namespace
}  // namespace stage_model::source
