#include "engine/contract/model_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stage_model {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kAll = {"az", "https", "s3", "gs", "hf", "file"};

std::string error_of(std::string_view url, const std::vector<std::string>& allowed = kAll) {
  const Status status = check_url(url, allowed);
  return status ? "" : status.error().message;
}

TEST(ModelUrl, Good) {
  for (const char* url :
       {"az://acct/container/models/llama/", "az://devstoreaccount1/c-1/a%20b", "az://acct/$web/x",
        "https://acct.blob.core.windows.net/c/p/", "s3://bucket/prefix", "hf://meta/llama",
        "gs://b/p", "file:///data/model", "https://h/x?versionId=1", "https://h/x?design=1&tok=2",
        "az://acct/container/llama 3/", "s3://bucket/llama 3/",
        "az://acct/container/caf\xc3\xa9"}) {
    EXPECT_EQ(error_of(url), "") << url;
  }
}

TEST(ModelUrl, BadOnesSayWhatToDo) {
  EXPECT_THAT(error_of(""), HasSubstr("empty"));
  EXPECT_THAT(error_of("models/llama"), HasSubstr("az://ACCOUNT/CONTAINER"));
  EXPECT_THAT(error_of("ftp://h/x"), HasSubstr("this site allows az, https"));
  EXPECT_THAT(error_of("s3://b/x", {"az"}), HasSubstr("this site allows az"));
  EXPECT_THAT(error_of("az?://user@acct/c/"), HasSubstr("\"az\" carries a secret"));
  EXPECT_THAT(error_of("az://"), HasSubstr("no storage account"));
  EXPECT_THAT(error_of("az://ACCT/container"), HasSubstr("lower-case"));
  EXPECT_THAT(error_of("az://acct"), HasSubstr("no container"));
  EXPECT_THAT(error_of("az://acct/Con_tainer"), HasSubstr("container"));
  EXPECT_THAT(error_of("https://h/llama 3/x"), HasSubstr("%20"));
  EXPECT_THAT(error_of("az://acct/cont\n"), HasSubstr("unprintable"));
  EXPECT_THAT(error_of("az://acct/cont/\xff"), HasSubstr("unprintable"));
  EXPECT_THAT(error_of("file://host/x"), HasSubstr("file:///"));
  EXPECT_THAT(error_of("https:///x"), HasSubstr("host"));
  EXPECT_THAT(error_of("az://acct/cont/" + std::string(5000, 'x')), HasSubstr("4096"));
}

TEST(ModelUrl, SecretsAreRefusedAndNotShown) {
  for (const char* url :
       {"az://acct/cont/p?sv=1&sig=HUNTER2", "https://h/p?X-Amz-Signature=HUNTER2&a=b",
        "https://user:HUNTER2@h/p", "https://h/p?%73ig=HUNTER2", "https://h/p?a=b;SIG=HUNTER2",
        "https://h/p?x=1#token=HUNTER2", "hf://o/n?token=HUNTER2", "ftp://h/p?sig=HUNTER2",
        "https://h/p?private_token=HUNTER2", "https://h/p?api_key=HUNTER2",
        "https://h/p?key=HUNTER2", "https://h/p?X-Amz-Security-Token=HUNTER2",
        "https://HUNTER2@h/p", "https://h/p%3Fsv=1&sig=HUNTER2", "az://acct/cont?sig=HUNTER2\n"}) {
    EXPECT_THAT(error_of(url), HasSubstr("carries a secret")) << url;
    EXPECT_THAT(error_of(url), Not(HasSubstr("HUNTER2"))) << url;
  }
  EXPECT_THAT(error_of("az://acct/cont/p?sv=1&sig=HUNTER2"), HasSubstr("AZURE_STORAGE_SAS_TOKEN"));
  EXPECT_THAT(error_of("hf://o/n?token=HUNTER2"), HasSubstr("HF_TOKEN"));
  EXPECT_THAT(error_of("https://b.s3.amazonaws.com/p?X-Amz-Signature=HUNTER2"),
              HasSubstr("s3://BUCKET"));
  // No signature, but nobody needs to see it in a message either.
  EXPECT_THAT(error_of("ftp://h/p?other=HUNTER2"), Not(HasSubstr("HUNTER2")));
}

TEST(ModelUrl, LastPartIsFitForADirectory) {
  EXPECT_EQ(url_last_part("az://a/c/models/llama-405b/"), "llama-405b");
  EXPECT_EQ(url_last_part("az://a/c/x%20y?z=/w"), "x_20y");
  EXPECT_EQ(url_last_part("az://a/c/.hidden"), "_hidden");
  EXPECT_EQ(url_last_part("az://a/c/.."), "_.");
  EXPECT_EQ(url_last_part("az://a/c/--x"), "_-x");
  EXPECT_EQ(url_last_part("file:///"), "model");
  EXPECT_EQ(url_last_part("az://a/c/" + std::string(300, 'x')).size(), 64u);
}

}  // namespace
}  // namespace stage_model
