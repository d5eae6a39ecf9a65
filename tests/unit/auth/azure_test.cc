#include "engine/auth/azure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/auth/azure_sas.h"
#include "engine/auth/azure_shared_key.h"
#include "engine/base/crypto.h"
#include "engine/contract/iso_time.h"

namespace stage_model::auth {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(AuthCrypto, Base64IsStrict) {
  for (const char* text : {"", "a", "ab", "abc", "abcd"}) {
    EXPECT_EQ(base64_decode(base64_encode(text)), text);
  }
  EXPECT_EQ(base64_encode(std::string_view("\0\xff", 2)), "AP8=");
  for (const char* bad : {"A", "AP8", "A===", "AP8=\n", " AP8=", "A=P8", "AP-_"}) {
    EXPECT_FALSE(base64_decode(bad)) << bad;
  }
}

TEST(AuthCrypto, HmacOfRfc4231) {
  // Test case 2.
  EXPECT_EQ(base64_encode(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=");
}

// From Microsoft's "Authorize with Shared Key": its List Container Metadata example, at today's
// version of the format (Content-Length of 0 is empty).
TEST(AuthSharedKey, StringToSignOfMicrosoftsExample) {
  http::Request request;
  request.path = "/mycontainer";
  request.query = {{"restype", "container"}, {"comp", "metadata"}, {"timeout", "20"}};
  request.headers = {{"x-ms-version", "2015-02-21"},
                     {"x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT"}};
  EXPECT_EQ(azure_string_to_sign(request, "myaccount"),
            "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\n"
            "x-ms-version:2015-02-21\n/myaccount/mycontainer\ncomp:metadata\nrestype:container\n"
            "timeout:20");
}

TEST(AuthSharedKey, SignsRangesAndEncodedPaths) {
  http::Request request;
  request.path = "/c/a%20b%2520";
  request.query = {{"Prefix", "b"}, {"prefix", "a"}};
  request.headers = {{"X-Ms-Version", "v"}, {"If-Match", "\"e\""}, {"Range", "bytes=0-1"}};
  EXPECT_EQ(azure_string_to_sign(request, "acct"),
            "GET\n\n\n\n\n\n\n\n\"e\"\n\n\nbytes=0-1\nx-ms-version:v\n/acct/c/a%20b%2520\n"
            "prefix:a,b");
}

TEST(AuthSas, ReadsWhatItSaysOfItself) {
  const auto sas = parse_sas(
      "?sv=2021-08-06&st=2026-01-01T00%3A00%3A00Z&se=2026-02-01T00:00Z&sr=c&sp=rl&sig=a%2Bb%3D\n");
  ASSERT_TRUE(sas) << sas.error().message;
  EXPECT_EQ(sas->starts, parse_iso_time("2026-01-01"));
  EXPECT_EQ(sas->expires, parse_iso_time("2026-02-01"));
  EXPECT_EQ(sas->permissions, "rl");
  EXPECT_TRUE(check_sas(*sas, *parse_iso_time("2026-01-15")));
  EXPECT_THAT(check_sas(*sas, *parse_iso_time("2026-02-01")).error().message,
              HasSubstr("the SAS expired at 2026-02-01T00:00:00Z"));
  EXPECT_THAT(check_sas(*sas, *parse_iso_time("2025-12-31")).error().message,
              HasSubstr("not valid before 2026-01-01T00:00:00Z"));
}

TEST(AuthSas, IsEncodedOnceAndNeverDescribed) {
  http::Request request;
  request.origin = "https://h";
  request.path = "/c";
  const auto identity = azure_sas(*parse_sas("sp=rl&sig=a%2Bb%2F%3D"));
  ASSERT_TRUE(identity->sign(request));
  EXPECT_EQ(request.url(), "https://h/c?sp=rl&sig=a%2Bb%2F%3D");
  EXPECT_THAT(identity->describe(), Not(HasSubstr("a+b")));
}

TEST(AuthSas, RefusesWhatCannotWork) {
  EXPECT_FALSE(parse_sas(""));
  EXPECT_FALSE(parse_sas("sv=1&sp=rl"));
  EXPECT_FALSE(parse_sas("sig=x&se=yesterday"));
  const auto message = [](const char* text) {
    const Status status = check_sas(*parse_sas(text), 0);
    return status ? std::string() : status.error().message;
  };
  EXPECT_THAT(message("sig=x&sp=r"), HasSubstr("sp=r,"));
  EXPECT_THAT(message("sig=x&sp=wl"), HasSubstr("sp=wl,"));
  EXPECT_EQ(message("sig=x&sp=r&sr=b"), "");  // one blob: nothing to list
  EXPECT_THAT(message("sig=x&sp=l&sr=b"), HasSubstr("sp=l,"));
  EXPECT_THAT(message("sig=x&sp=rl&ss=q&srt=co"), HasSubstr("ss=q"));
  EXPECT_THAT(message("sig=x&sp=rl&ss=b&srt=o"), HasSubstr("srt=o"));
  EXPECT_EQ(message("sig=x&sp=racwdl&ss=bf&srt=sco"), "");
  EXPECT_THAT(message("sig=x&sp=rl&se=2026-01-09&ske=1969-12-31"),
              HasSubstr("SAS expired at 1969"));
  EXPECT_EQ(message("sig=x&si=policy&sr=c"), "");  // a stored policy holds rights and times
}

// "az … generate-sas" without "-o tsv".
TEST(AuthSas, QuotationMarksAreNotPartOfIt) {
  const auto sas = parse_sas("\"?sv=1&sp=rl&sig=a%3D\"\n");
  ASSERT_TRUE(sas);
  EXPECT_THAT(sas->query, testing::ElementsAre(testing::Pair("sv", "1"), testing::Pair("sp", "rl"),
                                               testing::Pair("sig", "a=")));
}

std::string chosen(const std::map<std::string, std::string>& variables,
                   std::string_view url_sas = "") {
  const auto identity = choose_azure("acct", url_sas, variables);
  return identity ? (*identity)->describe() : "error: " + identity.error().message;
}

TEST(AuthChoice, FollowsItsOrder) {
  std::map<std::string, std::string> all = {
      {"AZURE_STORAGE_CONNECTION_STRING", "AccountName=acct;AccountKey=a2V5"},
      {"AZURE_STORAGE_SAS_TOKEN", "sig=x&se=2026-01-01"},
      {"AZURE_STORAGE_KEY", "a2V5\n"},
  };
  EXPECT_EQ(chosen(all, "sig=y"), "SAS");
  EXPECT_EQ(chosen(all), "shared key of account acct");
  all.erase("AZURE_STORAGE_CONNECTION_STRING");
  EXPECT_EQ(chosen(all), "SAS (expires 2026-01-01T00:00:00Z)");
  all.erase("AZURE_STORAGE_SAS_TOKEN");
  EXPECT_EQ(chosen(all), "shared key of account acct");
  EXPECT_EQ(chosen({}), "anonymous");
}

TEST(AuthChoice, AKeyBelongsToAnAccount) {
  EXPECT_EQ(chosen({{"AZURE_STORAGE_KEY", "a2V5"}, {"AZURE_STORAGE_ACCOUNT", "acct"}}),
            "shared key of account acct");
  EXPECT_EQ(chosen({{"AZURE_STORAGE_KEY", "a2V5"}, {"AZURE_STORAGE_ACCOUNT", "b"}}),
            "anonymous (AZURE_STORAGE_KEY is for account b)");
  EXPECT_EQ(chosen({{"AZURE_STORAGE_SAS_TOKEN", "sig=x"}, {"AZURE_STORAGE_ACCOUNT", "acct"}}),
            "SAS");
  EXPECT_EQ(chosen({{"AZURE_STORAGE_SAS_TOKEN", "sig=x"}, {"AZURE_STORAGE_ACCOUNT", "b"}}),
            "anonymous (AZURE_STORAGE_SAS_TOKEN is for account b)");
  EXPECT_EQ(chosen({{"AZURE_STORAGE_CONNECTION_STRING", "AccountName=b;AccountKey=a2V5"}}),
            "anonymous (AZURE_STORAGE_CONNECTION_STRING is for account b)");
  EXPECT_EQ(chosen({{"AZURE_STORAGE_CONNECTION_STRING",
                     "BlobEndpoint=https://b.blob.core.windows.net/;SharedAccessSignature=sig=x"}}),
            "anonymous (AZURE_STORAGE_CONNECTION_STRING is for account b)");
}

TEST(AuthChoice, WhatIsBrokenIsAnError) {
  EXPECT_THAT(chosen({{"AZURE_STORAGE_KEY", "SECRET!"}}), HasSubstr("error: the key of account"));
  EXPECT_THAT(chosen({{"AZURE_STORAGE_KEY", "SECRET!"}}), Not(HasSubstr("SECRET")));
  EXPECT_THAT(chosen({{"AZURE_STORAGE_SAS_TOKEN", "sv=SECRET"}}), HasSubstr("no 'sig='"));
  const std::string whole = chosen({{"AZURE_STORAGE_SAS_TOKEN", "https://a/c?sv=1&sig=SECRET"}});
  EXPECT_THAT(whole, HasSubstr("the SAS is a whole URL: only what is behind its '?'"));
  EXPECT_THAT(whole, Not(HasSubstr("SECRET")));
}

}  // namespace
}  // namespace stage_model::auth
