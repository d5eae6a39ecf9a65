// The S3 source against moto, which verifies every signature (cases N1, N2, N5, D1, D2, L2, H8,
// I1).
#include "engine/plan/filter.h"
#include "engine/source/s3.h"
#include "tests/integration/http/store_test.h"
#include "tests/support/s3_server.h"

namespace stage_model::source {
namespace {

using test::names;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

test::S3Server& server() {
  static test::S3Server instance;
  return instance;
}

class MotoS3 : public test::StoreTest {
 protected:
  MotoS3() {
    variables_ = server().variables();
    static int number = 0;
    bucket_ = "test" + std::to_string(++number);
    server().make_bucket(bucket_);
  }

  void put(const std::string& key, const std::string& bytes) override {
    server().put(bucket_, key, bytes);
  }
  std::vector<std::string> secrets() const override {
    return {server().variables()["AWS_SECRET_ACCESS_KEY"]};
  }

  test::Opened open(const std::string& path, unsigned page_size = 1000) override {
    return open_s3("s3://" + bucket_ + "/" + path, variables_, options_, page_size);
  }

  std::string bucket_;
};

// N1, N2: list, GET and signature agree on every name, byte by byte.
TEST_F(MotoS3, NamesArriveAsTheyAre) {
  expect_names_arrive({
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
  });
}

TEST_F(MotoS3, CutsALargeObjectIntoBlocksOnEveryRank) {
  expect_blocks_of_a_large_object([this](const Source&) {
    for (const char* key : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}) variables_.erase(key);
    return open("");  // a node where the keys are not
  });
}

// L2
TEST_F(MotoS3, EveryPageOfAListIsRead) { expect_every_page_is_read(); }

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
}

TEST_F(MotoS3, AFileThatIsADirectoryTooIsRefused) {
  expect_a_file_that_is_a_directory_is_refused();
}

// D2
TEST_F(MotoS3, OneObjectOrAPrefix) { expect_one_object_or_a_prefix(); }

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
  server().put(bucket_, "m/cold", "data", {{"x-amz-storage-class", "DEEP_ARCHIVE"}});
  EXPECT_THAT(error("m/"),
              AllOf(HasSubstr("object 'cold' is archived"), HasSubstr("restore-object")));
  EXPECT_THAT(error("m/cold"), HasSubstr("object 'cold' is archived"));
  server().restore(bucket_, "m/cold");
  const auto listing = list("m/");
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_THAT(names(*listing), ElementsAre("a", "cold"));
}

// H8: what filters leave out need not be restored.
TEST_F(MotoS3, AnArchivedObjectThatIsExcludedIsNobodysConcern) {
  put("m/a", "data");
  server().put(bucket_, "m/cold", "data", {{"x-amz-storage-class", "GLACIER"}});
  auto source = open("m/");
  ASSERT_TRUE(source);
  auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_FALSE(plan::check_names(*listing, "/d"));
  plan::Filter filter;
  filter.exclude = {"cold"};
  ASSERT_TRUE(plan::apply_filter(filter, *listing));
  EXPECT_TRUE(plan::check_names(*listing, "/d"));
  EXPECT_THAT(names(*listing), ElementsAre("a"));
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
  expect_a_change_is_noticed([this] { put("m/x", std::string(200000, 'b')); });
}

TEST_F(MotoS3, HashesAreTakenWhereTheyAreProven) {
  server().put(bucket_, "m/kms", "data", {{"x-amz-server-side-encryption", "aws:kms"}});
  put("m/plain", "data");
  server().put(bucket_, "m/s3", "data", {{"x-amz-server-side-encryption", "AES256"}});
  server().put(bucket_, "m/sha256", "data",
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
