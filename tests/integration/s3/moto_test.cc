// The S3 source against moto, which verifies every signature (cases N1, N2, N5, D1, D2, L2, H8,
// I1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/plan/names.h"
#include "engine/source/s3.h"
#include "tests/integration/http/fetch.h"
#include "tests/support/s3_server.h"

namespace stage_model::source {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

test::S3Server& server() {
  static test::S3Server instance;
  return instance;
}

class MotoS3 : public testing::Test {
 protected:
  MotoS3() : variables_(server().variables()) {
    options_.deadline_s = 60;
    options_.block_size = 64 << 10;
    static int number = 0;
    bucket_ = "test" + std::to_string(++number);
    server().make_bucket(bucket_);
  }

  void put(const std::string& key, const std::string& bytes,
           const test::S3Server::Headers& headers = {}) {
    server().put(bucket_, key, bytes, headers);
  }

  Result<std::unique_ptr<Source>> open(const std::string& path, unsigned page_size = 1000) {
    return open_s3("s3://" + bucket_ + "/" + path, variables_, options_, page_size);
  }

  Result<plan::Listing> list(const std::string& path, unsigned page_size = 1000) {
    auto source = open(path, page_size);
    if (!source) return tl::unexpected(source.error());
    auto listing = (*source)->list();
    if (!listing) return listing;
    if (Status status = plan::check_names(*listing, "/d"); !status) {
      return tl::unexpected(status.error());
    }
    return listing;
  }

  std::string error(const std::string& path) {
    const auto listing = list(path);
    if (listing) return "no error";
    EXPECT_EQ(listing.error().code, ExitCode::kSource);
    EXPECT_THAT(listing.error().message, Not(HasSubstr("\n")));
    EXPECT_THAT(listing.error().message,
                Not(HasSubstr(server().variables()["AWS_SECRET_ACCESS_KEY"])));
    return listing.error().message;
  }

  static std::vector<std::string> names(const plan::Listing& listing) {
    std::vector<std::string> out;
    for (const auto& object : listing.objects) out.push_back(object.name);
    return out;
  }

  TransferOptions options_;
  Variables variables_;
  std::string bucket_;
};

// N1, N2: list, GET and signature agree on every name, byte by byte.
TEST_F(MotoS3, NamesArriveAsTheyAre) {
  const std::map<std::string, std::string> model = {
      {"a/b c%20d#e?.bin", "one"},
      {"50%.bin", "two"},
      {"abc.%22", "three"},
      {"abc.%2F", "four"},
      {"100%0A/x", "five"},
      {"x+y&z=$^.bin", "six"},
      {"a b.txt", "seven"},
      {"a+b.txt", "eight"},
      {"100%.csv", "nine"},
      {"run=2026-01-01T00:00:00+00:00/f.bin", "ten"},
      {"läma/모델 №1.safetensors", "eleven"},
      {"emoji-\xf0\x9f\xa6\x99.bin", "twelve"},
      {"semi;colon,comma'quote\"(paren)[bracket]{brace}!*~@:", "thirteen"},
      {"<tag>&amp;.txt", "fourteen"},
      {"back`tick|pipe\\x", "fifteen"},
      {" leading and trailing /x", "sixteen"},
      {"tab\there", "seventeen"},
      {"dots/.../x..y/.z", "eighteen"},
      {std::string(250, 'n'), "nineteen"},
      {"empty.bin", ""},
  };
  for (const auto& [name, bytes] : model) put("m/" + name, bytes);
  auto source = open("m/");
  ASSERT_TRUE(source) << source.error().message;
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  std::set<std::string> expected;
  for (const auto& [name, bytes] : model) expected.insert(name);
  const auto found = names(*listing);
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), expected);
  auto fetcher = (*source)->fetcher(options_);
  ASSERT_TRUE(fetcher);
  for (const auto& object : listing->objects) {
    const auto bytes = test::fetch(**fetcher, object);
    ASSERT_TRUE(bytes) << object.name << ": " << bytes.error().message;
    EXPECT_EQ(*bytes, model.at(object.name));
  }
}

TEST_F(MotoS3, CutsALargeObjectIntoBlocksOnEveryRank) {
  std::string bytes(1000000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
  put("big", bytes);
  auto first = open("");
  const auto listing = (*first)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  const auto& object = listing->objects.at(0);
  EXPECT_EQ(object.hash.kind, plan::StoreHash::Kind::kMd5);
  EXPECT_EQ(object.hash.bytes.size(), 16U);
  EXPECT_EQ(listing->resolved, "us-east-1");

  for (const char* key : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}) variables_.erase(key);
  auto other = open("");  // a node where the keys are not
  ASSERT_TRUE((*other)->adopt(listing->resolved));
  ASSERT_TRUE((*other)->accept((*first)->handover()));
  auto fetcher = (*other)->fetcher(options_);
  EXPECT_EQ(*test::fetch(**fetcher, object), bytes);
  EXPECT_EQ(*test::fetch(**fetcher, object, 12345, 300000), bytes.substr(12345, 300000));
  const Counters counters = (*fetcher)->counters();
  EXPECT_EQ(counters.bytes, 1300000U);  // each byte once
  EXPECT_EQ(counters.requests, 16U + 5U);
}

// L2
TEST_F(MotoS3, EveryPageOfAListIsRead) {
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

// D1
TEST_F(MotoS3, MarkersBecomeDirectories) {
  put("m/llama/", "");
  put("m/llama/x", "data");
  put("m/hollow/", "");
  put("m/implicit", "");
  put("m/implicit/y", "data");
  put("m/implicit.z", "data");
  put("m/empty", "");
  put("m/", "");
  for (const char* path : {"m/", "m"}) {
    const auto listing = list(path);
    ASSERT_TRUE(listing) << listing.error().message;
    EXPECT_THAT(names(*listing), ElementsAre("empty", "implicit.z", "implicit/y", "llama/x"));
    EXPECT_THAT(listing->directories, ElementsAre("hollow", "implicit", "llama"));
  }
  put("m/data", "0123456789");
  put("m/data/x.bin", "data");
  EXPECT_THAT(error("m/"), HasSubstr("object 'data' is a file and also the directory"));
}

// D2
TEST_F(MotoS3, OneObjectOrAPrefix) {
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
  EXPECT_THAT(names(*listing), ElementsAre("llama.gguf"));
}

TEST_F(MotoS3, MistakesAreNamed) {
  EXPECT_THAT(error("none/"), HasSubstr("nothing found under s3://" + bucket_ + "/none/"));
  variables_["AWS_SECRET_ACCESS_KEY"] = "wrongSECRETwrong";
  EXPECT_THAT(error("m/"), AllOf(HasSubstr("copy AWS_SECRET_ACCESS_KEY again"),
                                 HasSubstr("HTTP 403 SignatureDoesNotMatch"),
                                 HasSubstr("as keys of AWS_ACCESS_KEY_ID")));
  variables_["AWS_ACCESS_KEY_ID"] = "AKIANOBODY";
  EXPECT_THAT(error("m/"), HasSubstr("does not know this access key"));
  variables_ = server().variables();
  bucket_ = "missing";
  EXPECT_THAT(error("m/"), HasSubstr("there is no bucket 'missing': check the URL (HTTP 404 "));
}

// H8
TEST_F(MotoS3, AnArchivedObjectIsRefusedUntilItIsRestored) {
  put("m/a", "data");
  put("m/cold", "data", {{"x-amz-storage-class", "DEEP_ARCHIVE"}});
  EXPECT_THAT(error("m/"),
              AllOf(HasSubstr("object 'cold' is archived"), HasSubstr("restore-object")));
  EXPECT_THAT(error("m/cold"), HasSubstr("object 'cold' is archived"));
  server().restore(bucket_, "m/cold");
  const auto listing = list("m/");
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_THAT(names(*listing), ElementsAre("a", "cold"));
}

TEST_F(MotoS3, APublicBucketNeedsNoKeys) {
  put("m/x", "data");
  for (const char* key : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}) variables_.erase(key);
  EXPECT_THAT(error("m/"), HasSubstr("no public access: set AWS_ACCESS_KEY_ID"));
  bucket_ = "public-models";
  server().make_bucket(bucket_);
  put("m/x", "data");
  auto source = open("m/");
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  auto fetcher = (*source)->fetcher(options_);
  EXPECT_EQ(*test::fetch(**fetcher, listing->objects.at(0)), "data");
}

// I1
TEST_F(MotoS3, AnObjectThatChangesIsNotMixed) {
  put("m/x", std::string(100000, 'a'));
  auto source = open("m/");
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  auto fetcher = (*source)->fetcher(options_);
  ASSERT_TRUE(test::fetch(**fetcher, listing->objects[0], 0, 1000));
  put("m/x", std::string(100000, 'b'));
  const auto bytes = test::fetch(**fetcher, listing->objects[0], 1000, 1000);
  ASSERT_FALSE(bytes);
  EXPECT_THAT(bytes.error().message, HasSubstr("object 'x': it changed during the download"));
}

TEST_F(MotoS3, HashesAreTakenWhereTheyAreProven) {
  put("m/kms", "data", {{"x-amz-server-side-encryption", "aws:kms"}});
  put("m/plain", "data");
  put("m/s3", "data", {{"x-amz-server-side-encryption", "AES256"}});
  put("m/sha256", "data",
      {{"x-amz-sdk-checksum-algorithm", "SHA256"},
       {"x-amz-checksum-sha256", "Om6weQ85rIfJTzhWst0sXREOaBFgImGpqSPTuyOtyLc="}});
  const auto listing = list("m/");
  ASSERT_TRUE(listing) << listing.error().message;
  std::vector<plan::StoreHash::Kind> kinds;
  for (const auto& object : listing->objects) kinds.push_back(object.hash.kind);
  using Kind = plan::StoreHash::Kind;
  EXPECT_THAT(kinds, ElementsAre(Kind::kNone, Kind::kMd5, Kind::kMd5, Kind::kSha256));
}

}  // namespace
}  // namespace stage_model::source
