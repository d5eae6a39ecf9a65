#include "engine/contract/azure_secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/contract/iso_time.h"

namespace stage_model {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(IsoTime, AsSignaturesHoldIt) {
  EXPECT_EQ(parse_iso_time("1994-11-06"), 784080000);
  EXPECT_EQ(parse_iso_time("1994-11-06T08:49Z"), 784111740);
  EXPECT_EQ(parse_iso_time("1994-11-06T08:49:37Z"), 784111777);
  EXPECT_EQ(parse_iso_time("1994-11-06T08:49:37.1234567Z"), 784111777);
  EXPECT_EQ(format_iso_time(784111777), "1994-11-06T08:49:37Z");
  EXPECT_EQ(format_iso_time(*parse_iso_time("0012-01-31")), "0012-01-31T00:00:00Z");
  for (const char* bad : {"", "1994", "1994-13-06", "1994-11-06T08Z", "1994-11-06T08:49:37",
                          "1994-11-06T08:49:37+01:00", "1994-11-06T08:49:37.Z"}) {
    EXPECT_FALSE(parse_iso_time(bad)) << bad;
  }
}

TEST(ConnectionString, Forms) {
  auto parts = parse_connection_string(
      "DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=a2V5=;EndpointSuffix=core.x\n");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->account, "acct");
  EXPECT_EQ(parts->key, "a2V5=");
  EXPECT_EQ(parts->endpoint, "https://acct.blob.core.x");

  parts = parse_connection_string(
      "BlobEndpoint=https://acct.blob.core.windows.net/;SharedAccessSignature=?sv=1&sig=a=b");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->endpoint, "https://acct.blob.core.windows.net");
  EXPECT_EQ(parts->sas, "sv=1&sig=a=b");

  EXPECT_EQ(parts->account, "acct");  // the portal's strings with a SAS have no AccountName

  parts = parse_connection_string(" UseDevelopmentStorage = true ; ");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->endpoint, "http://127.0.0.1:10000/devstoreaccount1");
}

TEST(ConnectionString, AsPeoplePasteThem) {
  for (const char* text :
       {"AccountName = acct ; AccountKey = a2V5 ;", "\"AccountName=acct;AccountKey=a2V5\"",
        "'AccountName=acct;AccountKey=a2V5'\n", "AccountName=acct;\nAccountKey=a2V5"}) {
    const auto parts = parse_connection_string(text);
    ASSERT_TRUE(parts) << text << parts.error().message;
    EXPECT_EQ(parts->account, "acct") << text;
    EXPECT_EQ(parts->key, "a2V5") << text;
    EXPECT_EQ(parts->endpoint, "https://acct.blob.core.windows.net") << text;
  }
}

TEST(ConnectionString, ASasIsOfTheAccountOfItsEndpoint) {
  const auto account = [](const std::string& endpoint) {
    const auto parts = parse_connection_string("BlobEndpoint=" + endpoint +
                                               ";SharedAccessSignature=sp=rl&sig=SECRET");
    return parts ? parts->account : parts.error().message;
  };
  EXPECT_EQ(account("https://acct.blob.core.chinacloudapi.cn/"), "acct");
  EXPECT_EQ(account("https://acct-secondary.blob.core.windows.net/"), "acct");
  EXPECT_EQ(account("http://127.0.0.1:10000/devstoreaccount1"), "devstoreaccount1");
  EXPECT_EQ(account("https://models.corp.example/"), "");
}

TEST(ConnectionString, RefusesHalfOnesWithoutShowingThem) {
  for (const char* bad : {"", "SECRET", "AccountKey=SECRET", "=SECRET;AccountName=a",
                          "AccountName=a;accountname=SECRET"}) {
    const auto parts = parse_connection_string(bad);
    ASSERT_FALSE(parts) << bad;
    EXPECT_THAT(parts.error().message, Not(HasSubstr("SECRET")));
  }
}

TEST(ConnectionString, AccountOfAnUrl) {
  EXPECT_EQ(account_of_endpoint("https://acct.blob.core.windows.net/c/p?x=1"), "acct");
  EXPECT_EQ(account_of_endpoint("https://ACCT.blob.core.windows.net:443"), "acct");
  EXPECT_EQ(account_of_endpoint("http://127.0.0.1:10000/devstoreaccount1/c"), "devstoreaccount1");
  EXPECT_EQ(account_of_endpoint("acct"), "");
}

TEST(SasTimes, InEveryForm) {
  for (const char* token :
       {"se=1994-11-06T08:49:37Z&sig=S", " \"?sv=x&se=1994-11-06T08%3A49%3A37Z&sig=S\"\n",
        "sig=S&ske=1994-11-06T08%3a49%3a37Z&se=2020-01-01", "%73e=1994-11-06T08:49:37Z"}) {
    const auto times = sas_times(token);
    ASSERT_TRUE(times) << token;
    EXPECT_EQ(times->expires, 784111777) << token;
    EXPECT_FALSE(times->starts) << token;
  }
  EXPECT_EQ(sas_times("st=1994-11-06&se=1994-11-07")->starts, 784080000);
  for (const char* token : {"", "sig=S", "se=&sig=S", "xse=2020-01-01", "&&&"}) {
    const auto times = sas_times(token);
    ASSERT_TRUE(times) << token;
    EXPECT_FALSE(times->expires) << token;
  }
}

TEST(SasTimes, AnUnreadableOneIsNamedNotShown) {
  for (const char* token : {"sig=SECRET&se=SECRET", "se=SECRETT08:00:00", "ske=SECRET"}) {
    const auto times = sas_times(token);
    ASSERT_FALSE(times) << token;
    EXPECT_THAT(times.error().message, HasSubstr("e='"));
    EXPECT_THAT(times.error().message, Not(HasSubstr("SECRET")));
  }
}

}  // namespace
}  // namespace stage_model
