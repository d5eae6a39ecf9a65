// The Cloud Storage source against a server of our own: there is no emulator in a registry that we
// use (cases N1, L2, I1, I3, A1, A2, A7).
#include "engine/source/gcs.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "tests/integration/http/store_test.h"
#include "tests/support/cloud_server.h"

namespace stage_model::source {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CloudGcs : public testing::Test {
 protected:
  explicit CloudGcs(int life = 3600) : server_(life) {
    options_.deadline_s = 60;
    options_.block_size = 64 << 10;
    variables_ = {{"CLOUDSDK_CONFIG", "/nonexistent"},
                  {"GCE_METADATA_HOST", server_.host()},
                  {"no_proxy", "*"}};
  }

  test::Opened open(const std::string& kind, const std::string& path, unsigned page_size = 1000) {
    variables_["CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"] =
        server_.origin() + "/gcs-" + kind + "/storage/v1/";
    return open_gcs("gs://" + path, variables_, options_, page_size);
  }

  Result<plan::Listing> list(const std::string& kind, const std::string& path,
                             unsigned page_size = 1000) {
    return test::list(open(kind, path, page_size), &identity_);
  }

  std::string error(const std::string& kind, const std::string& path) {
    return test::error_of(list(kind, path), {"SECRET", "token-"});
  }

  test::CloudServer server_;
  TransferOptions options_;
  Variables variables_;
  std::string identity_;
};

// N1, L2, I3; and what was stored packed stays so.
TEST_F(CloudGcs, ListsAndReadsWhatIsStored) {
  for (const unsigned page_size : {1000U, 2U}) {
    auto source = open("public", "models/m/", page_size);
    ASSERT_TRUE(source) << source.error().message;
    const auto listing = (*source)->list();
    ASSERT_TRUE(listing) << listing.error().message;
    std::vector<std::string> names;
    for (const auto& object : listing->objects) names.push_back(object.name);
    EXPECT_THAT(names, ElementsAre("a b+c%20d#e?.bin", "big", "läma/모델.safetensors",
                                   "packed.json", "quote\".bin"));
    EXPECT_THAT(listing->directories, ElementsAre("dir"));
    const auto& object = listing->objects[0];
    EXPECT_EQ(object.etag, "7");
    EXPECT_EQ(object.hash.kind, plan::StoreHash::Kind::kCrc32c);
    EXPECT_EQ(object.hash.bytes.size(), 4U);

    auto other = open("public", "models/m/");
    ASSERT_TRUE((*other)->adopt(listing->resolved));
    auto fetcher = (*other)->fetcher(options_);
    EXPECT_EQ(*test::fetch(**fetcher, object), "one");
    EXPECT_EQ(*test::fetch(**fetcher, listing->objects[2]), "two");
    EXPECT_EQ(*test::fetch(**fetcher, listing->objects[4]), "three");
    const auto packed = test::fetch(**fetcher, listing->objects[3]);
    ASSERT_TRUE(packed) << packed.error().message;
    EXPECT_EQ(packed->substr(0, 2), "\x1f\x8b");
    const auto big = test::fetch(**fetcher, listing->objects[1], 1000, 200000);
    ASSERT_TRUE(big) << big.error().message;
    for (std::size_t i = 0; i < big->size(); ++i) {
      ASSERT_EQ(static_cast<unsigned char>((*big)[i]), (i + 1000) % 251);
    }
  }
}

TEST_F(CloudGcs, OneObjectOrAPrefix) {
  auto listing = list("public", "models/m/big");
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_EQ(listing->objects.at(0).name, "big");
  listing = list("public", "models/m/läma");
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_EQ(listing->objects.at(0).name, "모델.safetensors");
  EXPECT_THAT(error("public", "models/none/"), HasSubstr("nothing found under gs://models/none/"));
}

// I1: the generation is in each GET.
TEST_F(CloudGcs, AnObjectThatChangesIsNotMixed) {
  auto source = open("public", "changed/m/big");
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  auto fetcher = (*source)->fetcher(options_);
  const auto bytes = test::fetch(**fetcher, listing->objects[0]);
  ASSERT_FALSE(bytes);
  EXPECT_THAT(bytes.error().message, HasSubstr("object 'big': it changed during the download"));
}

TEST_F(CloudGcs, RefusalsSayWhatToDo) {
  EXPECT_THAT(error("public", "missing/m/"), HasSubstr("there is no bucket 'missing': check"));
  EXPECT_THAT(error("public", "forbidden/m/"),
              AllOf(HasSubstr("grant it 'Storage Object Viewer'"), HasSubstr("HTTP 403 forbidden"),
                    HasSubstr("as service account of the metadata server")));
  variables_["NO_GCE_CHECK"] = "true";
  EXPECT_THAT(error("private", "models/m/"),
              AllOf(HasSubstr("no public access: set GOOGLE_APPLICATION_CREDENTIALS"),
                    HasSubstr("gcloud auth application-default login"),
                    HasSubstr("as anonymous (NO_GCE_CHECK is set)")));
}

// A1, A2: past a proxy that is dead.
TEST_F(CloudGcs, TheMetadataServerIsNeverAskedByAProxy) {
  variables_["http_proxy"] = "http://127.0.0.1:1";
  variables_["no_proxy"] = "nothing.example";
  options_.max_retries = 0;
  EXPECT_FALSE(list("private", "models/m/"));
  EXPECT_EQ(identity_, "service account of the metadata server");
  EXPECT_THAT(server_.log(), AllOf(HasSubstr("/service-accounts/default/token - Google"),
                                   Not(HasSubstr("gcs-private"))));
}

TEST_F(CloudGcs, WithoutAMetadataServerNobody) {
  variables_["GCE_METADATA_HOST"] = "127.0.0.1:1";
  EXPECT_TRUE(list("public", "models/m/"));
  EXPECT_EQ(identity_,
            "anonymous (the metadata server of Google Cloud does not answer: not on Google Cloud)");
}

TEST_F(CloudGcs, OneTokenServesTheOtherRanks) {
  auto source = open("private", "models/m/");
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  variables_["GCE_METADATA_HOST"] = "127.0.0.1:1";
  auto other = open("private", "models/m/");
  ASSERT_TRUE((*other)->adopt(listing->resolved));
  ASSERT_TRUE((*other)->accept((*source)->handover()));
  auto fetcher = (*other)->fetcher(options_);
  EXPECT_EQ(*test::fetch(**fetcher, listing->objects[0]), "one");
}

TEST_F(CloudGcs, ARefusedTokenIsRenewedInMidTransfer) {
  auto source = open("dropping", "models/m/big");
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  auto fetcher = (*source)->fetcher(options_);
  for (int i = 0; i < 10; ++i) {
    const auto bytes = test::fetch(**fetcher, listing->objects[0], 0, 1000);
    ASSERT_TRUE(bytes) << i << ": " << bytes.error().message;
  }
}

std::string new_key() {
  EVP_PKEY* key = EVP_RSA_gen(2048);
  BIO* memory = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(memory, key, nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const long length = BIO_get_mem_data(memory, &data);
  std::string pem(data, static_cast<std::size_t>(length));
  BIO_free(memory);
  EVP_PKEY_free(key);
  std::string out;  // as JSON holds it
  for (const char c : pem) out += c == '\n' ? "\\n" : std::string(1, c);
  return out;
}

TEST_F(CloudGcs, TheKeyOfAServiceAccount) {
  const auto file = [this](const std::string& email, const std::string& key) {
    return R"({"type": "service_account", "client_email": ")" + email +
           R"(", "private_key_id": "1", "private_key": ")" + key + R"(", "token_uri": ")" +
           server_.origin() + R"(/token"})";
  };
  const std::string key = new_key();
  const test::ScratchFile good(file("me@project.example", key));
  const test::ScratchFile stranger(file("you@project.example", key));
  const test::ScratchFile broken(file("me@project.example", "SECRET"));
  const test::ScratchFile external(R"({"type": "external_account"})");

  variables_["GOOGLE_APPLICATION_CREDENTIALS"] = good.path();
  EXPECT_TRUE(list("private", "models/m/")) << list("private", "models/m/").error().message;
  EXPECT_EQ(identity_, "service account me@project.example");
  variables_["GOOGLE_APPLICATION_CREDENTIALS"] = stranger.path();
  EXPECT_THAT(error("private", "models/m/"), HasSubstr("gives no token for it (HTTP 400)"));
  variables_["GOOGLE_APPLICATION_CREDENTIALS"] = broken.path();
  EXPECT_THAT(error("private", "models/m/"), HasSubstr("its private_key is not an RSA key"));
  variables_["GOOGLE_APPLICATION_CREDENTIALS"] = external.path();
  EXPECT_THAT(error("private", "models/m/"), HasSubstr("of type 'external_account', which is not"));
  variables_["GOOGLE_APPLICATION_CREDENTIALS"] = "/nonexistent/key.json";
  EXPECT_THAT(error("private", "models/m/"), HasSubstr("there is no such file"));
}

class ShortLivedGcs : public CloudGcs {
 protected:
  ShortLivedGcs() : CloudGcs(4) {}
};

TEST_F(ShortLivedGcs, TokensAreRenewedBeforeTheyRunOut) {
  auto source = open("private", "models/m/big");
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  auto fetcher = (*source)->fetcher(options_);
  for (int i = 0; i < 100; ++i) {
    const auto bytes = test::fetch(**fetcher, listing->objects[0], 0, 100);
    ASSERT_TRUE(bytes) << i << ": " << bytes.error().message;
    const timespec pause = {0, 100'000'000};
    nanosleep(&pause, nullptr);
  }
  const auto log = server_.log();
  std::size_t asked = 0;
  for (std::size_t at = 0; (at = log.find("/token - Google", at)) != std::string::npos; ++at)
    ++asked;
  EXPECT_GE(asked, 3U);
}

}  // namespace
}  // namespace stage_model::source
