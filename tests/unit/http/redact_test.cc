#include "engine/http/redact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stage_model::http {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HttpRedact, BlanksWhatProves) {
  for (const char* text : {
           "https://h/c?sv=1&sig=SECRET&x=y",
           "https://h/c?X-Amz-Signature=SECRET",
           "https://h/c?X-Amz-Security-Token=SECRET&x=y",
           "https://h/c?access_token=SECRET",
           "?SIG=SECRET",
           "Authorization: SharedKey acct:SECRET\r\nx: y",
           "authorization: Bearer SECRET",
           "failed: Bearer SECRET",
           "http://user:SECRET@proxy:80/",
           "http://SECRET@proxy",
           "AccountName=a;AccountKey=SECRET;x=y",
           "client_secret=SECRET",
           "sig=SECRET\nsig=SECRET",
           "<a href=\"https://h/?sig=SECRET\">",
       }) {
    EXPECT_THAT(redact(text), Not(HasSubstr("SECRET"))) << text;
    EXPECT_THAT(redact(text), Not(HasSubstr("\n"))) << text;
  }
}

TEST(HttpRedact, LeavesTheRest) {
  EXPECT_EQ(redact("https://h/c/design=x?sv=1&sig=SECRET&se=2026"),
            "https://h/c/design=x?sv=1&sig=REDACTED&se=2026");
  EXPECT_EQ(redact("user@host at http://h/a@b"), "user@host at http://h/a@b");
}

}  // namespace
}  // namespace stage_model::http
