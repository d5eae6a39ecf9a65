#include "engine/auth/azure_login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stage_model::auth {
namespace {

using testing::HasSubstr;

http::ExchangeAnswer answer(int status, const std::string& server = "IMDS/150") {
  http::ExchangeAnswer out;
  out.status = status;
  if (!server.empty()) out.headers["server"] = server;
  if (status == 200) out.body = R"({"access_token":"T","expires_in":"3600"})";
  return out;
}

// IMDS that always answers so: asked with growing pauses, for a bounded time.
struct Trial {
  unsigned asked = 0;
  double waited = 0;
  std::string error;
};
Trial try_imds(int status, const std::string& server = "IMDS/150",
               const std::map<std::string, std::string>& variables = {}) {
  Trial trial;
  AzureSurroundings surroundings;
  surroundings.exchange =
      [&](const http::ExchangeRequest& request) -> Result<http::ExchangeAnswer> {
    EXPECT_TRUE(request.local);
    ++trial.asked;
    return answer(status, server);
  };
  surroundings.sleep = [&](double seconds) { trial.waited += seconds; };
  std::string why;
  const auto proof = azure_managed_identity(variables, surroundings).fetch(why);
  trial.error = proof ? why : proof.error().message;
  return trial;
}

TEST(AuthAzureLogin, ImdsInTroubleIsGivenUpInBoundedTimeByName) {
  for (const int status : {404, 410, 429, 500}) {
    const Trial trial = try_imds(status);
    EXPECT_THAT(trial.error, HasSubstr("IMDS at http://169.254.169.254 gives no token"));
    EXPECT_THAT(trial.error, HasSubstr("HTTP " + std::to_string(status)));
    EXPECT_GT(trial.asked, 4U);
    EXPECT_LT(trial.asked, 15U);
    EXPECT_GT(trial.waited, 60);  // an update takes up to 70 s
    EXPECT_LE(trial.waited, 90);
  }
  EXPECT_EQ(try_imds(400).asked, 1U);
  EXPECT_EQ(try_imds(403).asked, 1U);
}

// OpenStack and many others have a service at that address too: nobody waits 90 s for it there.
TEST(AuthAzureLogin, AnotherCloudsMetadataServiceIsNotWaitedFor) {
  for (const char* server : {"", "nginx", "EC2ws"}) {
    const Trial trial = try_imds(404, server);
    EXPECT_EQ(trial.asked, 1U) << server;
    EXPECT_THAT(trial.error, HasSubstr("is not Azure's")) << server;
  }
  const std::map<std::string, std::string> named = {
      {"AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:2579"}};
  EXPECT_GT(try_imds(404, "", named).asked, 4U);
}

TEST(AuthAzureLogin, TokensInEveryFormThatIsSent) {
  EXPECT_EQ(parse_azure_token(R"({"access_token":"a","expires_in":10})", 100)->expires, 110);
  EXPECT_EQ(parse_azure_token(R"({"access_token":"a","expires_on":"200"})", 100)->expires, 200);
  EXPECT_EQ(parse_azure_token(R"({"accessToken":"a","expires_on":200})", 100)->secret, "a");
  const auto endless =
      parse_azure_token(R"({"access_token":"a","expires_in":9223372036854775807})", 100);
  ASSERT_TRUE(endless);
  EXPECT_EQ(endless->expires, 100 + 366 * 24 * 3600);
  for (const char* bad : {"", "{}", R"({"access_token":""})", R"({"access_token":"a b"})",
                          R"({"access_token":"a","expires_on":50})"}) {
    EXPECT_FALSE(parse_azure_token(bad, 100)) << bad;
  }
  EXPECT_EQ(azure_error_code(R"({"error":"x","error_description":"AADSTS700016: S"})"),
            "AADSTS700016");
  EXPECT_EQ(azure_error_code(R"({"error":"invalid_client secret"})"), "invalid_client");
}

TEST(AuthAzureLogin, AHandoverMakesAskingNeedless) {
  unsigned asked = 0;
  AzureSurroundings surroundings;
  surroundings.exchange = [&](const http::ExchangeRequest&) -> Result<http::ExchangeAnswer> {
    ++asked;
    return answer(200);
  };
  const auto first = azure_login({}, surroundings, {});
  const auto second = azure_login({}, surroundings, {});
  ASSERT_TRUE(first && second);
  ASSERT_TRUE((*first)->prepare());
  ASSERT_TRUE((*second)->accept((*first)->handover()));
  ASSERT_TRUE((*second)->prepare());
  EXPECT_TRUE((*second)->ready());
  http::Request request;
  ASSERT_TRUE((*second)->sign(request));
  EXPECT_EQ(request.headers.at(0).second, "Bearer T");
  EXPECT_EQ((*second)->describe(), "managed identity");
  EXPECT_EQ(asked, 1U);
}

}  // namespace
}  // namespace stage_model::auth
