// The Azure source against Azurite: names of every kind, markers, identities, changes (cases N1,
// L2, D1, D2, A4, I1, U1).
#include "tests/support/azurite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>

#include "engine/auth/http_date.h"
#include "engine/plan/names.h"
#include "engine/source/azure.h"
#include "tests/integration/http/fetch.h"

namespace stage_model::source {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

test::Azurite& azurite() {
  static test::Azurite instance;
  return instance;
}

std::string in(double seconds) {
  return auth::format_iso_time(std::time(nullptr) + static_cast<std::time_t>(seconds));
}

class AzuriteSource : public testing::Test {
 protected:
  AzuriteSource() {
    options_.deadline_s = 60;
    options_.block_size = 64 << 10;
    variables_ = azurite().variables();
    static int number = 0;
    container_ = "test" + std::to_string(++number);
    azurite().make_container(container_);
  }

  void use_key() { variables_["AZURE_STORAGE_KEY"] = test::Azurite::key(); }
  void use_sas(const std::string& sas) { variables_["AZURE_STORAGE_SAS_TOKEN"] = sas; }

  std::string url(const std::string& path) const {
    return "az://devstoreaccount1/" + container_ + "/" + path;
  }

  Result<std::unique_ptr<Source>> open(const std::string& path, unsigned page_size = 5000) {
    return open_azure(url(path), variables_, options_, page_size);
  }

  Result<plan::Listing> list(const std::string& path, unsigned page_size = 5000) {
    auto source = open(path, page_size);
    if (!source) return tl::unexpected(source.error());
    auto listing = (*source)->list();
    if (!listing) return listing;
    if (Status status = plan::check_names(*listing, "/d"); !status) {
      return tl::unexpected(status.error());
    }
    return listing;
  }

  static std::vector<std::string> names(const plan::Listing& listing) {
    std::vector<std::string> out;
    for (const auto& object : listing.objects) out.push_back(object.name);
    return out;
  }

  // Whichever step fails: opening or listing.
  std::string error(const std::string& path) {
    const auto listing = list(path);
    if (listing) return "no error";
    EXPECT_EQ(listing.error().code, ExitCode::kSource);
    EXPECT_THAT(listing.error().message, Not(HasSubstr("\n")));
    return listing.error().message;
  }

  TransferOptions options_;
  Variables variables_;
  std::string container_;
};

// N1: the name is encoded once for the request and once for the signature.
class Names : public AzuriteSource, public testing::WithParamInterface<const char*> {};

TEST_P(Names, ArriveUnderTheirLiteralNames) {
  const std::map<std::string, std::string> model = {
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
  };
  for (const auto& [name, bytes] : model) azurite().put(container_, "m/" + name, bytes);
  if (GetParam() == std::string("key")) {
    use_key();
  } else {
    use_sas(test::Azurite::sas(container_, "rl", "", in(600)));
  }
  auto source = open("m/");
  ASSERT_TRUE(source) << source.error().message;
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  ASSERT_EQ(listing->objects.size(), model.size());
  auto fetcher = (*source)->fetcher(options_);
  ASSERT_TRUE(fetcher);
  for (const auto& object : listing->objects) {
    ASSERT_TRUE(model.contains(object.name)) << object.name;
    const auto bytes = test::fetch(**fetcher, object);
    ASSERT_TRUE(bytes) << object.name << ": " << bytes.error().message;
    EXPECT_EQ(*bytes, model.at(object.name));
  }
  EXPECT_THAT(listing->source, Not(HasSubstr("sig=")));
}

INSTANTIATE_TEST_SUITE_P(Identities, Names, testing::Values("key", "sas"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(AzuriteSource, CutsALargeObjectIntoBlocksOnEveryRank) {
  std::string bytes(1000000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
  azurite().put(container_, "big", bytes);
  use_key();
  auto first = open("");
  const auto listing = (*first)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  const auto& object = listing->objects.at(0);
  EXPECT_EQ(object.hash.kind, plan::StoreHash::Kind::kMd5);
  EXPECT_EQ(object.hash.bytes.size(), 16U);

  auto other = open("");
  ASSERT_TRUE((*other)->adopt(listing->resolved));
  auto fetcher = (*other)->fetcher(options_);
  EXPECT_EQ(*test::fetch(**fetcher, object), bytes);
  EXPECT_EQ(*test::fetch(**fetcher, object, 12345, 300000), bytes.substr(12345, 300000));
  const Counters counters = (*fetcher)->counters();
  EXPECT_EQ(counters.bytes, 1300000U);  // each byte once
  EXPECT_EQ(counters.requests, 16U + 5U);
}

TEST_F(AzuriteSource, EveryPageOfAListIsRead) {
  std::set<std::string> expected;
  for (int i = 0; i < 23; ++i) {
    const std::string name = "p/" + std::to_string(i) + "+& =.bin";
    azurite().put(container_, name, "x");
    expected.insert(name.substr(2));
  }
  use_key();
  const auto listing = list("p/", 3);
  ASSERT_TRUE(listing) << listing.error().message;
  const auto found = names(*listing);
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), expected);
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
  azurite().put(container_, "m/data", "0123456789");
  azurite().put(container_, "m/data/x.bin", "data");
  use_key();
  EXPECT_THAT(error("m/"), HasSubstr("object 'data' is a file and also the directory"));
}

// D2
TEST_F(AzuriteSource, OneObjectOrAPrefix) {
  azurite().put(container_, "models/llama.gguf", "weights");
  azurite().put(container_, "models/llama.gguf.md", "text");
  azurite().put(container_, "models/llama/a", "a");
  azurite().put(container_, "models/llama-70b/b", "b");
  use_key();
  auto listing = list("models/llama.gguf");
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_THAT(names(*listing), ElementsAre("llama.gguf"));
  for (const char* path : {"models/llama", "models/llama/"}) {
    listing = list(path);
    ASSERT_TRUE(listing) << listing.error().message;
    EXPECT_THAT(names(*listing), ElementsAre("a"));
  }
  EXPECT_THAT(error("models/llama.gguf/"), HasSubstr("nothing found under "));
}

TEST_F(AzuriteSource, AnObjectWinsOverItsPrefixAndThatIsSaid) {
  azurite().put(container_, "models/llama.gguf", "weights");
  azurite().put(container_, "models/llama.gguf/x", "more");
  use_key();
  testing::internal::CaptureStderr();
  const auto listing = list("models/llama.gguf");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("llama.gguf is an object and a directory"));
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_THAT(names(*listing), ElementsAre("llama.gguf"));
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
  azurite().put(container_, "m/x", std::string(200000, 'a'));
  use_key();
  auto source = open("m/");
  const auto listing = (*source)->list();
  ASSERT_TRUE(listing) << listing.error().message;
  auto fetcher = (*source)->fetcher(options_);
  ASSERT_TRUE(test::fetch(**fetcher, listing->objects[0], 0, 1000));
  if (GetParam()) {
    azurite().set_metadata(container_, "m/x", {{"x-ms-meta-a", "b"}});
  } else {
    azurite().put(container_, "m/x", std::string(200000, 'b'));
  }
  const auto bytes = test::fetch(**fetcher, listing->objects[0]);
  ASSERT_FALSE(bytes);
  EXPECT_THAT(bytes.error().message, HasSubstr("object 'x': it changed during the download"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Changed, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Metadata" : "Content");
});

}  // namespace
}  // namespace stage_model::source
