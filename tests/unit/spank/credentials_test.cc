#include "spank/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace stage_model::spank {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

Ask ask_for(const char* url) { return Ask{{{"", url}}, "", {}, {}}; }

TEST(Credentials, OnlyThoseOfTheStore) {
  const auto azure = credential_names(ask_for("az://acct/cont"), {"MINE"});
  EXPECT_THAT(azure, Contains("AZURE_STORAGE_KEY"));
  EXPECT_THAT(azure, Contains("MINE"));
  EXPECT_THAT(azure, Not(Contains("AWS_SECRET_ACCESS_KEY")));
  EXPECT_THAT(credential_names(ask_for("file:///x"), {}), ElementsAre());
  const auto https = credential_names(ask_for("https://h/x"), {});
  EXPECT_THAT(https, Contains("AZURE_STORAGE_KEY"));
  // It may be Azure's, never another store's: those secrets stay where they are.
  for (const char* other :
       {"AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS"}) {
    EXPECT_THAT(https, Not(Contains(other)));
  }
  EXPECT_THAT(credential_names(ask_for("http://h/x"), {}), Contains("STAGE_ALLOW_HTTP"));
}

// What a user has set for azcopy, aws or gcloud works in a job as it does on the login node.
TEST(Credentials, OfTheToolsThatUsersKnow) {
  const auto azure = credential_names(ask_for("az://acct/cont"), {});
  for (const char* name :
       {"AZCOPY_AUTO_LOGIN_TYPE", "AZCOPY_SPA_APPLICATION_ID", "AZCOPY_SPA_CLIENT_SECRET",
        "AZCOPY_TENANT_ID", "AZCOPY_MSI_CLIENT_ID", "AZURE_STORAGE_ANON"}) {
    EXPECT_THAT(azure, Contains(name));
  }
  const auto s3 = credential_names(ask_for("s3://bucket/x"), {});
  for (const char* name : {"AWS_DEFAULT_PROFILE", "AWS_ENDPOINT_URL_STS"}) {
    EXPECT_THAT(s3, Contains(name));
  }
  EXPECT_THAT(credential_names(ask_for("gs://bucket/x"), {}), Contains("CLOUDSDK_CONFIG"));
  EXPECT_THAT(credential_names(ask_for("hf://org/name"), {}), Contains("XDG_CACHE_HOME"));
}

TEST(Credentials, GathersWhatIsSet) {
  const std::map<std::string, std::string> environment = {{"A", "x=y"}, {"B", ""}, {"D", "no"}};
  const auto lookup = [&](const std::string& name) -> const char* {
    const auto at = environment.find(name);
    return at == environment.end() ? nullptr : at->second.c_str();
  };
  EXPECT_THAT(*gather_credentials({"A", "B", "C"}, lookup), ElementsAre(Pair("A", "x=y")));
}

TEST(Credentials, ImpossibleValuesAreNamedNotShown) {
  for (const std::string& value :
       {std::string("SECRET\nx"), std::string("SECRET\xff"), "SECRET" + std::string(40000, 'x')}) {
    const auto got = gather_credentials({"A"}, [&](const std::string&) { return value.c_str(); });
    ASSERT_FALSE(got);
    EXPECT_THAT(got.error().message, HasSubstr("variable A "));
    EXPECT_THAT(got.error().message, Not(HasSubstr("SECRET")));
  }
}

}  // namespace
}  // namespace stage_model::spank
