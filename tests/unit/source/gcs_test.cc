#include "engine/source/gcs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/source/gcs_list.h"

namespace stage_model::source {
namespace {

using testing::HasSubstr;
using testing::Not;

Result<Page> parse(const std::string& items, const std::string& more = "") {
  return parse_gcs_page(R"({"kind": "storage#objects")" + more + R"(, "items": [)" + items + "]}");
}

std::string item(const std::string& fields) {
  return R"({"name": "a", "size": "1", "generation": "1")" + fields + "}";
}

TEST(SourceGcsList, ReadsAnEntry) {
  const auto page = parse(R"({"name": "a/ \"b\" +%20\u00e4.bin", "size": "6597069766656",)"
                          R"("generation": "1700000000000001", "crc32c": "yZRlqg=="})",
                          R"(, "nextPageToken": "1oDM+g/plc==&%2B ")");
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->entries.size(), 1U);
  const Entry& entry = page->entries[0];
  EXPECT_EQ(entry.key, "a/ \"b\" +%20ä.bin");
  EXPECT_EQ(entry.size, 6ULL << 40);
  EXPECT_EQ(entry.etag, "1700000000000001");
  EXPECT_EQ(entry.hash.kind, plan::StoreHash::Kind::kCrc32c);  // I3
  EXPECT_EQ(entry.hash.bytes, "\xc9\x94\x65\xaa");
  EXPECT_EQ(page->next, "1oDM+g/plc==&%2B ");
}

TEST(SourceGcsList, Hashes) {
  using Kind = plan::StoreHash::Kind;
  const auto kind = [](const std::string& fields) {
    return parse(item(fields))->entries.at(0).hash.kind;
  };
  EXPECT_EQ(kind(R"(, "md5Hash": "XrY7u+Ae7tCTyyK7j1rNww==", "crc32c": "yZRlqg==")"),
            Kind::kCrc32c);
  EXPECT_EQ(kind(R"(, "md5Hash": "XrY7u+Ae7tCTyyK7j1rNww==", "crc32c": "short")"), Kind::kMd5);
  EXPECT_EQ(kind(R"(, "md5Hash": "short", "crc32c": "yZRlqg==")"), Kind::kCrc32c);
  EXPECT_EQ(kind(R"(, "crc32c": "yZRl")"), Kind::kNone);
  EXPECT_EQ(kind(""), Kind::kNone);
}

TEST(SourceGcsList, NothingIsAList) {
  const auto page = parse_gcs_page(R"({"kind": "storage#objects"})");
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->entries.empty());
}

TEST(SourceGcsList, RefusesNonsense) {
  for (const char* bad : {"", "[]", "{}", "<html/>", R"({"kind": "storage#object"})"}) {
    EXPECT_FALSE(parse_gcs_page(bad)) << bad;
  }
  for (const char* bad :
       {R"({"size": "1", "generation": "1"})", R"({"name": "a", "size": 1})",
        R"({"name": "a", "size": "-1", "generation": "1"})",
        R"({"name": "a", "size": "18446744073709551616", "generation": "1"})",
        R"({"name": "a", "size": "1"})", R"({"name": "a\u0000", "size": "1"})", R"(7)"}) {
    EXPECT_FALSE(parse(bad)) << bad;
  }
}

TEST(SourceGcsList, Errors) {
  const GcsError error = parse_gcs_error(
      R"({"error": {"code": 403, "message": "no", "errors": [{"reason": "forbidden"}]}})");
  EXPECT_EQ(error.reason, "forbidden");
  EXPECT_EQ(error.message, "no");
  EXPECT_EQ(parse_gcs_error("<html>").reason, "");
}

TEST(SourceGcsUrl, MistakesAreNamedWithoutSecrets) {
  const Variables variables = {{"NO_GCE_CHECK", "true"}, {"CLOUDSDK_CONFIG", "/nonexistent"}};
  EXPECT_TRUE(open_gcs("gs://models/x", variables, {}, 1000));
  for (const char* bad : {"gs://", "gs:///x", "gs://Models/x", "gs://m/x", "gs://a b c/x"}) {
    const auto source = open_gcs(bad, variables, {}, 1000);
    ASSERT_FALSE(source) << bad;
    EXPECT_EQ(source.error().code, ExitCode::kUsage);
  }
  for (const char* bad : {"http://gcs.example/storage/v1/", "https://u:SECRET@gcs.example"}) {
    Variables with = variables;
    with["CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"] = bad;
    const auto source = open_gcs("gs://models/x", with, {}, 1000);
    ASSERT_FALSE(source) << bad;
    EXPECT_THAT(source.error().message, Not(HasSubstr("SECRET")));
  }
}

}  // namespace
}  // namespace stage_model::source
