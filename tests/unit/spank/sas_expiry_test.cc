#include "spank/sas_expiry.h"

#include <gmock/gmock.h>

namespace stage_model::spank {
namespace {

constexpr std::time_t kNow = 1767225600;  // 2026-01-01T00:00:00Z

std::string said(const char* token) {
  const Status status = check_sas_expiry(token, kNow, "V");
  return status ? "" : status.error().message;
}

TEST(SasExpiry, PastEndsInEveryForm) {
  for (const char* token :
       {"se=2025-12-31T23:59:59Z&sig=S", "?sv=x&se=2025-12-31T23%3A59%3A59Z&sig=S",
        "sig=S&se=2025-12-31T23%3a59Z", "se=2026-01-01&sig=S", "se=2026-01-01T00:00:00Z"}) {
    EXPECT_THAT(said(token), ::testing::HasSubstr("expired at 202")) << token;
    EXPECT_THAT(said(token), ::testing::HasSubstr("(now 2026-01-01T00:00:00Z)"));
    EXPECT_THAT(said(token), ::testing::Not(::testing::HasSubstr("sig"))) << token;
  }
}

TEST(SasExpiry, WhatIsGoodOrNotUnderstoodIsTheEngines) {
  for (const char* token :
       {"", "sig=S", "se=&sig=S", "se=2026-01-01T00:00:01Z", "se=2026-01-02", "xse=2020-01-01",
        "se=yesterday", "se=20-01-01", "se=2020-01-01T00:00:00.5Z", "se=2020-01-01T0000Z", "&&&"}) {
    EXPECT_EQ(said(token), "") << token;
  }
}

TEST(SasExpiry, InAConnectionString) {
  constexpr std::string_view kUrl = "az://acct/cont/m";
  for (const char* text : {"SharedAccessSignature=se=1&sig=a=;AccountName=acct",
                           "BlobEndpoint=https://acct.blob.core.windows.net;SharedAccessSignature="
                           "se=1&sig=a=;"}) {
    EXPECT_EQ(sas_of_connection_string(text, kUrl), "se=1&sig=a=") << text;
  }
  for (const char* text :
       {"", ";;=", "AccountName=other;SharedAccessSignature=se=1",
        "SharedAccessSignature=se=1;AccountKey=k;AccountName=acct", "SharedAccessSignature"}) {
    EXPECT_EQ(sas_of_connection_string(text, kUrl), "") << text;
  }
}

}  // namespace
}  // namespace stage_model::spank
