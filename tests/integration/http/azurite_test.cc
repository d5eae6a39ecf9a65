// The Azure source against Azurite: names of every kind, markers, identities, changes (cases N1,
// L2, D1, D2, A4, I1, U1).
#include "tests/support/azurite.h"

#include <ctime>

#include "engine/contract/iso_time.h"
#include "engine/source/azure.h"
#include "tests/integration/http/store_test.h"

namespace stage_model::source {
namespace {

using test::names;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

test::Azurite& azurite() {
  static test::Azurite instance;
  return instance;
}

std::string in(double seconds) {
  return format_iso_time(std::time(nullptr) + static_cast<std::time_t>(seconds));
}

class AzuriteSource : public test::StoreTest {
 protected:
  AzuriteSource() {
    variables_ = azurite().variables();
    static int number = 0;
    container_ = "test" + std::to_string(++number);
    azurite().make_container(container_);
  }

  void put(const std::string& name, const std::string& bytes) override {
    azurite().put(container_, name, bytes);
  }
  std::vector<std::string> secrets() const override { return {"sig=", test::Azurite::key()}; }

  void use_key() { variables_["AZURE_STORAGE_KEY"] = test::Azurite::key(); }
  void use_sas(const std::string& sas) { variables_["AZURE_STORAGE_SAS_TOKEN"] = sas; }

  std::string url(const std::string& path) const {
    return "az://devstoreaccount1/" + container_ + "/" + path;
  }

  test::Opened open(const std::string& path, unsigned page_size = 5000) override {
    return open_azure(url(path), variables_, options_, page_size);
  }

  std::string container_;
};

// N1: the name is encoded once for the request and once for the signature.
class Names : public AzuriteSource, public testing::WithParamInterface<const char*> {};

TEST_P(Names, ArriveUnderTheirLiteralNames) {
  if (GetParam() == std::string("key")) {
    use_key();
  } else {
    use_sas(test::Azurite::sas(container_, "rl", "", in(600)));
  }
  expect_names_arrive({
      {"a/b c%20d#e?.bin", "one"},
      {"50%.bin", "two"},
      {"abc.%22", "three"},
      {"abc.%2F", "four"},
      {"100%0A/x", "five"},
      {"x+y&z=$^.bin", "six"},
      {"plain.txt", "seven"},
      {"läma/모델 №1.safetensors", "eight"},
      {"emoji-\xf0\x9f\xa6\x99.bin", "nine"},
      {"semi;colon,comma'quote\"(paren)[bracket]{brace}!*~@:", "ten"},
      {"<tag>&amp;.txt", "eleven"},
      {"back`tick|pipe", "twelve"},
      {" leading and trailing /x", "thirteen"},
      {std::string(250, 'n'), "fourteen"},
      {"empty.bin", ""},
  });
}

INSTANTIATE_TEST_SUITE_P(Identities, Names, testing::Values("key", "sas"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(AzuriteSource, CutsALargeObjectIntoBlocksOnEveryRank) {
  use_key();
  expect_blocks_of_a_large_object([this](const Source&) { return open(""); });
}

TEST_F(AzuriteSource, EveryPageOfAListIsRead) {
  use_key();
  expect_every_page_is_read();
}

// D1
TEST_F(AzuriteSource, MarkersBecomeDirectories) {
  azurite().put(container_, "m", "");
  azurite().put(container_, "m/step/ema", "", {{"x-ms-meta-hdi_isfolder", "true"}});
  azurite().put(container_, "m/step/ema/f.bin", "data");
  azurite().put(container_, "m/llama/", "");
  azurite().put(container_, "m/llama/x", "data");
  azurite().put(container_, "m/implicit", "");
  azurite().put(container_, "m/implicit/y", "data");
  azurite().put(container_, "m/hollow", "", {{"x-ms-meta-hdi_isfolder", "true"}});
  azurite().put(container_, "m/empty", "");
  azurite().put(container_, "m/implicit.z", "data");  // sorts between "implicit" and "implicit/"
  use_key();
  for (const char* path : {"m/", "m"}) {
    const auto listing = list(path);
    ASSERT_TRUE(listing) << listing.error().message;
    EXPECT_THAT(names(*listing),
                ElementsAre("empty", "implicit.z", "implicit/y", "llama/x", "step/ema/f.bin"));
    EXPECT_THAT(listing->directories, ElementsAre("hollow", "implicit", "llama", "step/ema"));
  }
}

TEST_F(AzuriteSource, AFileThatIsADirectoryTooIsRefused) {
  use_key();
  expect_a_file_that_is_a_directory_is_refused();
}

// D2
TEST_F(AzuriteSource, OneObjectOrAPrefix) {
  use_key();
  expect_one_object_or_a_prefix();
}

// U1, S2: each mistake of a user is one clear line.
TEST_F(AzuriteSource, NothingFoundIsNoSuccess) {
  use_key();
  EXPECT_THAT(error("none/"), HasSubstr("nothing found under "));
  EXPECT_THAT(error("none"), HasSubstr("nothing found under "));
}

TEST_F(AzuriteSource, AMissingContainerIsNamed) {
  use_key();
  container_ = "missing";
  EXPECT_THAT(error("m/"), AllOf(HasSubstr("there is no container 'missing' in account "
                                           "devstoreaccount1"),
                                 HasSubstr("HTTP 404 ContainerNotFound, request id ")));
}

TEST_F(AzuriteSource, AnAccountThatIsNotThereIsNamed) {
  const std::string host = azurite().endpoint().substr(0, azurite().endpoint().rfind('/'));
  use_key();
  for (const bool sas : {false, true}) {
    if (sas) use_sas(test::Azurite::sas(container_, "rl", "", in(600)));
    variables_["AZURE_STORAGE_BLOB_ENDPOINT"] = host;
    const auto source = open_azure("az://nosuch/" + container_ + "/m/", variables_, options_, 5000);
    EXPECT_THAT(test::error_of(test::list(source), secrets()),
                AllOf(HasSubstr("there is no account 'nosuch' at this endpoint: check the URL"),
                      HasSubstr("HTTP 404 ResourceNotFound, request id ")));
  }
}

// By a HEAD, which has no body that could say so.
TEST_F(AzuriteSource, ABlobThatIsNotThereIsNamed) {
  const std::string sas = test::Azurite::sas_of_blob(container_, "gone", in(600));
  use_sas(sas);
  EXPECT_THAT(error("gone"), HasSubstr("object 'gone': there is no such blob"));
  azurite().put(container_, "gone", "data");
  EXPECT_TRUE(list("gone"));
}

TEST_F(AzuriteSource, AWrongAccountIsNamed) {
  use_key();
  const auto source =
      open_azure("az://someoneelse/" + container_ + "/m/", variables_, options_, 5000);
  ASSERT_FALSE(source);
  EXPECT_THAT(source.error().message, HasSubstr("for account 'someoneelse'"));
}

TEST_F(AzuriteSource, AWrongKeyIsNamed) {
  variables_["AZURE_STORAGE_KEY"] = "c2VjcmV0";
  EXPECT_THAT(error("m/"), AllOf(HasSubstr("a key that is not this account's"),
                                 HasSubstr("as shared key of account devstoreaccount1"),
                                 Not(HasSubstr("c2VjcmV0"))));
}

TEST_F(AzuriteSource, NoIdentityIsNamed) {
  variables_["AZURE_STORAGE_KEY"] = test::Azurite::key();
  variables_["AZURE_STORAGE_ACCOUNT"] = "another";
  EXPECT_THAT(error("m/"), HasSubstr("as anonymous (AZURE_STORAGE_KEY is for account another)"));
}

TEST_F(AzuriteSource, APublicContainerNeedsNoIdentity) {
  container_ = "public";
  azurite().make_public(container_);
  azurite().put(container_, "m/x", "data");
  const auto listing = list("m/");
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_THAT(names(*listing), ElementsAre("x"));
}

TEST_F(AzuriteSource, AConnectionStringCarriesEndpointAndKey) {
  azurite().put(container_, "m/x", "data");
  variables_.erase("AZURE_STORAGE_BLOB_ENDPOINT");
  variables_["AZURE_STORAGE_CONNECTION_STRING"] =
      std::string("DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=") +
      test::Azurite::key() + ";BlobEndpoint=" + azurite().endpoint() + "/;";
  auto listing = list("m/");
  ASSERT_TRUE(listing) << listing.error().message;
  variables_["AZURE_STORAGE_CONNECTION_STRING"] =
      "AccountName=devstoreaccount1;BlobEndpoint=" + azurite().endpoint() +
      ";SharedAccessSignature=?" + test::Azurite::sas(container_, "rl", "", in(600));
  listing = list("m/");
  ASSERT_TRUE(listing) << listing.error().message;
}

// A4: what a SAS says of itself is believed before anything is sent.
TEST_F(AzuriteSource, ASasIsReadBeforeItIsUsed) {
  azurite().put(container_, "m/x", "data");
  use_sas(test::Azurite::sas(container_, "rl", "", in(-60)));
  EXPECT_THAT(error("m/"), AllOf(HasSubstr("the SAS expired at "), Not(HasSubstr("sig"))));
  use_sas(test::Azurite::sas(container_, "rl", in(3600), in(7200)));
  EXPECT_THAT(error("m/"), HasSubstr("the SAS is not valid before "));
  use_sas(test::Azurite::sas(container_, "r", "", in(60)));
  EXPECT_THAT(error("m/"), HasSubstr("sp=r, staging needs read and list"));
  use_sas("?" + test::Azurite::sas(container_, "rl", "", in(60)));
  EXPECT_TRUE(list("m/"));
}

TEST_F(AzuriteSource, ASasInTheUrlWorksAndIsNotShown) {
  azurite().put(container_, "m/x", "data");
  const std::string sas = test::Azurite::sas(container_, "rl", "", in(60));
  for (const std::string& text :
       {url("m/?") + sas, azurite().endpoint() + "/" + container_ + "/m/?" + sas}) {
    auto source = open_azure(text, variables_, options_, 5000);
    ASSERT_TRUE(source) << source.error().message;
    const auto listing = (*source)->list();
    ASSERT_TRUE(listing) << listing.error().message;
    EXPECT_THAT(listing->source + listing->resolved + (*source)->identity(), Not(HasSubstr("sig")));
    EXPECT_THAT((*source)->identity(), HasSubstr("SAS (expires "));
  }
}

TEST_F(AzuriteSource, ASasThatEndsDuringTheTransferIsSaidToHaveExpired) {
  azurite().put(container_, "m/x", "data");
  use_sas(test::Azurite::sas(container_, "rl", "", in(2)));
  auto source = open("m/");
  ASSERT_TRUE(source) << source.error().message;
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  auto fetcher = (*source)->fetcher(options_);
  ASSERT_TRUE(fetcher);
  Result<std::string> bytes = test::fetch(**fetcher, listing->objects[0]);
  for (int i = 0; bytes && i < 50; ++i) {
    const timespec pause = {0, 100'000'000};
    nanosleep(&pause, nullptr);
    bytes = test::fetch(**fetcher, listing->objects[0]);
  }
  ASSERT_FALSE(bytes);
  EXPECT_THAT(bytes.error().message, AllOf(HasSubstr("object 'x'"), HasSubstr("SAS expired at ")));
  const auto counters = (*fetcher)->counters();
  EXPECT_EQ(counters.retries_server + counters.retries_throttle, 0U);
}

// I1: replaced, or only its metadata changed, after the list.
class Changed : public AzuriteSource, public testing::WithParamInterface<bool> {};

TEST_P(Changed, IsNoticedAndNamed) {
  use_key();
  expect_a_change_is_noticed([this] {
    if (GetParam()) {
      azurite().set_metadata(container_, "m/x", {{"x-ms-meta-a", "b"}});
    } else {
      put("m/x", std::string(200000, 'b'));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, Changed, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Metadata" : "Content");
});

}  // namespace
}  // namespace stage_model::source
