// The S3 source against a server of our own, for what no S3 server from a registry does: odd
// answers, and who gives out keys (cases N2, L2, H7, H8, A1, A2, A5, A7, T1).
#include "engine/source/s3.h"
#include "tests/integration/http/store_test.h"
#include "tests/support/cloud_server.h"

namespace stage_model::source {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CloudS3 : public testing::Test {
 protected:
  explicit CloudS3(int life = 3600) : server_(life) {
    options_.deadline_s = 60;
    variables_ = {{"AWS_ACCESS_KEY_ID", "AKIATEST"},
                  {"AWS_SECRET_ACCESS_KEY", "s3cr3t"},
                  {"AWS_CONFIG_FILE", "/nonexistent"},
                  {"AWS_SHARED_CREDENTIALS_FILE", "/nonexistent"},
                  {"AWS_EC2_METADATA_DISABLED", "true"},
                  // A1, A2: whatever goes through it fails.
                  {"http_proxy", "http://127.0.0.1:1"},
                  {"no_proxy", "nothing.example"}};
  }

  // `kind` of the server's S3. Only it is reached without the proxy: metadata must be by itself.
  test::Opened open(const std::string& kind, const std::string& path = "m/") {
    variables_["AWS_ENDPOINT_URL"] = server_.origin() + "/s3-" + kind;
    return open_s3("s3://bucket/" + path, variables_, options_, 1000);
  }

  Result<plan::Listing> list(const std::string& kind, const std::string& path = "m/") {
    return test::list(open(kind, path), &identity_);
  }

  std::string error(const std::string& kind) { return test::error_of(list(kind), {"s3cr3t"}); }

  void without_proxy() { variables_["no_proxy"] = "*"; }
  void without_keys() {
    variables_.erase("AWS_ACCESS_KEY_ID");
    variables_.erase("AWS_SECRET_ACCESS_KEY");
    variables_.erase("AWS_EC2_METADATA_DISABLED");
  }
  void use_imds(const std::string& kind) {
    without_keys();
    variables_["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = server_.origin() + "/imds-" + kind;
  }

  test::CloudServer server_;
  TransferOptions options_;
  Variables variables_;
  std::string identity_;
};

// H8
TEST_F(CloudS3, TheRegionIsFollowedOnce) {
  without_proxy();
  for (const char* kind : {"redirect", "malformed"}) {
    auto source = open(kind);
    ASSERT_TRUE(source);
    const auto listing = (*source)->list();
    ASSERT_TRUE(listing) << listing.error().message;
    EXPECT_TRUE(listing->resolved.starts_with("eu-west-1\n"));
    // A node without the variable or the profile that names the endpoint.
    Variables elsewhere = variables_;
    elsewhere.erase("AWS_ENDPOINT_URL");
    auto other = open_s3("s3://bucket/m/", elsewhere, options_, 1000);
    ASSERT_TRUE((*other)->adopt(listing->resolved));
    auto fetcher = (*other)->fetcher(options_);
    EXPECT_TRUE(test::fetch(**fetcher, listing->objects.at(0)));
  }
  EXPECT_THAT(error("circle"), AllOf(HasSubstr("is in region sa-east-1, not ap-south-1"),
                                     HasSubstr("HTTP 301 PermanentRedirect")));
  EXPECT_THAT(error("evil"), AllOf(HasSubstr("set AWS_REGION"), Not(HasSubstr("evil.example"))));
}

// N2: a server that ignores encoding-type.
TEST_F(CloudS3, WhatIsNotEncodedIsNotDecoded) {
  without_proxy();
  const auto listing = list("raw");
  ASSERT_TRUE(listing) << listing.error().message;
  ASSERT_EQ(listing->objects.size(), 2U);
  EXPECT_EQ(listing->objects[0].key, "m/100%25");
  EXPECT_EQ(listing->objects[1].key, "m/a+b%20c");
}

// L2
TEST_F(CloudS3, TokensOfPagesAreOpaque) {
  without_proxy();
  const auto listing = list("tokens");
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_EQ(listing->objects.size(), 4U);
  EXPECT_THAT(error("endless"), HasSubstr("list does not end"));
}

TEST_F(CloudS3, NamesOutsideThePrefixAreRefused) {
  without_proxy();
  EXPECT_THAT(error("foreign"), HasSubstr("'q/evil' is listed by the server, but lies outside"));
}

// H7
TEST_F(CloudS3, SizesBeyond32BitsAndRangesInThem) {
  without_proxy();
  auto source = open("huge");
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  std::vector<std::uint64_t> sizes;
  for (const auto& object : listing->objects) sizes.push_back(object.size);
  EXPECT_THAT(sizes,
              ElementsAre((1ULL << 31) - 1, 1ULL << 31, 1ULL << 32, (1ULL << 32) + 1, 6ULL << 40));
  auto fetcher = (*source)->fetcher(options_);
  for (const std::uint64_t offset : {(1ULL << 31) - 10, (1ULL << 32) - 10, (6ULL << 40) - 20}) {
    const auto bytes = test::fetch(**fetcher, listing->objects[4], offset, 20);
    ASSERT_TRUE(bytes) << bytes.error().message;
    for (std::uint64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(static_cast<unsigned char>((*bytes)[i]), (offset + i) % 251);
    }
  }
}

// T1
TEST_F(CloudS3, SlowDownIsWaitedFor) {
  without_proxy();
  EXPECT_TRUE(list("slow_down"));
}

// They only bring hashes: a list does not wait for 200 of them, one after another, for minutes
// each.
TEST_F(CloudS3, AServerInTroubleWithHeadsIsNotAskedForAll) {
  without_proxy();
  options_.max_retries = 0;
  const auto listing = list("headless");
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_EQ(listing->objects.size(), 200U);
  const std::string log = server_.log();
  std::size_t heads = 0;
  for (std::size_t at = log.find("HEAD "); at != std::string::npos; at = log.find("HEAD ", at + 1))
    ++heads;
  EXPECT_GT(heads, 0U);
  EXPECT_LE(heads, 32U);  // those that were under way
}

TEST_F(CloudS3, RefusalsSayWhatToDo) {
  without_proxy();
  EXPECT_THAT(error("denied"), AllOf(HasSubstr("s3:ListBucket"), HasSubstr("request id ABC123"),
                                     HasSubstr("as keys of AWS_ACCESS_KEY_ID")));
  EXPECT_THAT(error("skewed"), HasSubstr(test::clock_of_this_node()));  // A5
  EXPECT_THAT(error("html"), HasSubstr("not a list of objects"));
  without_keys();
  variables_["AWS_EC2_METADATA_DISABLED"] = "true";
  EXPECT_THAT(error("denied"), AllOf(HasSubstr("no public access: set AWS_ACCESS_KEY_ID"),
                                     HasSubstr("anonymous (AWS_EC2_METADATA_DISABLED is set)")));
  // H8: the class was not in the list.
  auto source = open("cold");
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  auto fetcher = (*source)->fetcher(options_);
  const auto bytes = test::fetch(**fetcher, listing->objects.at(0));
  ASSERT_FALSE(bytes);
  EXPECT_THAT(bytes.error().message, HasSubstr("object 'a': the object is archived"));
}

// A1, A2: the metadata service is asked past the proxy; the proxy of the store is dead.
TEST_F(CloudS3, TheMetadataServiceIsNeverAskedByAProxy) {
  use_imds("good");
  options_.max_retries = 0;
  EXPECT_FALSE(list("expiring"));
  EXPECT_EQ(identity_, "role of the EC2 instance");
  EXPECT_THAT(server_.log(),
              AllOf(HasSubstr("PUT /imds-good/latest/api/token"),
                    HasSubstr("/security-credentials/role"), Not(HasSubstr("s3-expiring"))));
}

TEST_F(CloudS3, TheRoleOfAnInstance) {
  without_proxy();
  use_imds("good");
  EXPECT_TRUE(list("expiring")) << list("expiring").error().message;
  EXPECT_THAT(error("denied"), HasSubstr("a public bucket is read without it by "
                                         "AWS_EC2_METADATA_DISABLED=true"));
  use_imds("busy");  // 429 twice
  EXPECT_TRUE(list("expiring"));
  use_imds("down");
  EXPECT_THAT(error("expiring"), HasSubstr("the EC2 metadata service (IMDS) is too busy or in "
                                           "trouble (HTTP 503)"));
}

TEST_F(CloudS3, WithoutARoleNobody) {
  without_proxy();
  use_imds("norole");
  EXPECT_TRUE(list("tokens"));
  EXPECT_EQ(identity_, "anonymous (the EC2 instance has no role)");
  use_imds("elsewhere");
  EXPECT_TRUE(list("tokens"));
  EXPECT_THAT(identity_, HasSubstr("IMDS) answers HTTP 400: not on EC2"));
  variables_["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://127.0.0.1:1";
  EXPECT_TRUE(list("tokens"));
  EXPECT_THAT(identity_, HasSubstr("IMDS) does not answer: not on EC2"));
}

TEST_F(CloudS3, AWebIdentity) {
  without_proxy();
  without_keys();
  const test::ScratchFile token("web-token\n");
  const test::ScratchFile wrong("wrong-s3cr3t");
  variables_["AWS_WEB_IDENTITY_TOKEN_FILE"] = token.path();
  variables_["AWS_ROLE_ARN"] = "arn:role";
  variables_["AWS_ENDPOINT_URL_STS"] = server_.origin() + "/sts";
  EXPECT_TRUE(list("expiring")) << list("expiring").error().message;
  EXPECT_EQ(identity_, "web identity for role arn:role");
  variables_["AWS_WEB_IDENTITY_TOKEN_FILE"] = wrong.path();
  EXPECT_THAT(error("expiring"),
              HasSubstr("gives no keys for role arn:role (HTTP 403 AccessDenied)"));
}

TEST_F(CloudS3, TheRoleOfAContainer) {
  without_proxy();
  without_keys();
  const test::ScratchFile token("container-token\n");
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server_.origin() + "/container/creds";
  variables_["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = token.path();
  EXPECT_TRUE(list("expiring")) << list("expiring").error().message;
  EXPECT_EQ(identity_, "role of the container");
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://elsewhere.example/creds";
  EXPECT_THAT(error("expiring"), HasSubstr("only https, loopback"));
}

class ShortLivedS3 : public CloudS3 {
 protected:
  ShortLivedS3() : CloudS3(4) { without_proxy(); }
};

// Keys run out three times while this goes on; the server takes the newest only.
TEST_F(ShortLivedS3, KeysAreRenewedBeforeTheyRunOut) {
  use_imds("good");
  auto source = open("expiring");
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  auto fetcher = (*source)->fetcher(options_);
  for (int i = 0; i < 100; ++i) {
    const auto bytes = test::fetch(**fetcher, listing->objects.at(0), 0, 100);
    ASSERT_TRUE(bytes) << i << ": " << bytes.error().message;
    const timespec pause = {0, 100'000'000};
    nanosleep(&pause, nullptr);
  }
}

// Somebody else got keys: ours are refused although they have not run out.
TEST_F(CloudS3, RefusedKeysAreRenewedOnceInMidTransfer) {
  without_proxy();
  use_imds("good");
  auto source = open("expiring");
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  auto fetcher = (*source)->fetcher(options_);
  ASSERT_TRUE(test::fetch(**fetcher, listing->objects.at(0)));
  ASSERT_TRUE(list("expiring"));  // takes the newest
  const auto bytes = test::fetch(**fetcher, listing->objects.at(0));
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(bytes->size(), 100U);
}

}  // namespace
}  // namespace stage_model::source
