#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/source/s3_list.h"
#include "engine/source/s3_url.h"
#include "engine/source/source.h"
#include "engine/source/xml.h"

namespace stage_model::source {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Result<Page> parse(const std::string& contents, const std::string& more = "") {
  return parse_s3_page(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" +
      more + contents + "</ListBucketResult>");
}

std::string object(const std::string& key, const std::string& more = "<Size>1</Size>") {
  return "<Contents><Key>" + key + "</Key>" + more + "</Contents>";
}

std::vector<std::string> keys(const Page& page) {
  std::vector<std::string> out;
  for (const Entry& entry : page.entries) out.push_back(entry.key);
  return out;
}

TEST(SourceS3List, ReadsAnEntry) {
  const auto page = parse(
      object("a/b &amp; c.bin",
             "<ETag>&quot;5eb63bbbe01eeed093cb22bb8f5acdc3&quot;</ETag><Size>6597069766656</Size>"
             "<ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm>"
             "<ChecksumAlgorithm>SHA256</ChecksumAlgorithm><StorageClass>STANDARD</StorageClass>"),
      "<IsTruncated>true</IsTruncated><NextContinuationToken>1oDM+g/plc==&amp;%2B "
      "</NextContinuationToken>");
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->entries.size(), 1U);
  const Entry& entry = page->entries[0];
  EXPECT_EQ(entry.key, "a/b & c.bin");
  EXPECT_EQ(entry.size, 6ULL << 40);
  EXPECT_EQ(entry.etag, "\"5eb63bbbe01eeed093cb22bb8f5acdc3\"");
  EXPECT_FALSE(entry.archived);
  EXPECT_EQ(entry.hash.kind, plan::StoreHash::Kind::kNone);  // only a HEAD can prove it
  EXPECT_TRUE(page->entries[0].head_has_hash);
  EXPECT_EQ(page->next, "1oDM+g/plc==&%2B ");  // L2: opaque
}

// N2
TEST(SourceS3List, DecodesNamesOnlyWhereTheAnswerSaysSo) {
  const std::string contents = object("a+b%2Bc.txt") + object("100%25.csv") + object("%ED%95%9C");
  auto page = parse(contents, "<EncodingType>url</EncodingType>");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(keys(*page), ElementsAre("a b+c.txt", "100%.csv", "한"));
  page = parse(contents);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(keys(*page), ElementsAre("a+b%2Bc.txt", "100%25.csv", "%ED%95%9C"));
}

TEST(SourceS3List, NamesAreBytes) {
  auto page =
      parse(object(" ") + object(" a ") + object("x&#13;&#10;y") + object("<![CDATA[<c>]]>"));
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(keys(*page), ElementsAre(" ", " a ", "x\r\ny", "<c>"));
  page = parse(object("e%FF%01%0A"), "<EncodingType>url</EncodingType>");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(keys(*page), ElementsAre("e\xff\x01\n"));
}

// H8
TEST(SourceS3List, KnowsWhatIsArchived) {
  const auto of = [](const std::string& kind, const std::string& restore = "") {
    return object("k", "<Size>1</Size><StorageClass>" + kind + "</StorageClass>" + restore);
  };
  const auto page =
      parse(of("GLACIER") + of("DEEP_ARCHIVE") + of("GLACIER_IR") + of("STANDARD_IA") +
            of("GLACIER",
               "<RestoreStatus><IsRestoreInProgress>true</IsRestoreInProgress>"
               "</RestoreStatus>") +
            of("GLACIER",
               "<RestoreStatus><IsRestoreInProgress>false</IsRestoreInProgress>"
               "<RestoreExpiryDate>2030-01-01T00:00:00.000Z</RestoreExpiryDate>"
               "</RestoreStatus>"));
  ASSERT_TRUE(page) << page.error().message;
  std::vector<bool> archived;
  for (const Entry& entry : page->entries) archived.push_back(entry.archived);
  EXPECT_THAT(archived, ElementsAre(true, true, false, false, true, false));
}

TEST(SourceS3List, ChecksumsOfPartsAreNone) {
  const auto page = parse(object("a",
                                 "<Size>1</Size><ChecksumAlgorithm>SHA256</ChecksumAlgorithm>"
                                 "<ChecksumType>COMPOSITE</ChecksumType>") +
                          object("b",
                                 "<Size>1</Size><ChecksumAlgorithm>CRC32C</ChecksumAlgorithm>"
                                 "<ChecksumType>FULL_OBJECT</ChecksumType>"));
  ASSERT_TRUE(page);
  EXPECT_FALSE(page->entries[0].head_has_hash);
  EXPECT_TRUE(page->entries[1].head_has_hash);
}

TEST(SourceS3List, RefusesNonsense) {
  for (const char* size : {"", "-1", "1.5", "18446744073709551616", "many"}) {
    EXPECT_FALSE(parse(object("a", "<Size>" + std::string(size) + "</Size>"))) << size;
  }
  EXPECT_FALSE(parse(object("")));
  EXPECT_FALSE(parse(object("%zz"), "<EncodingType>url</EncodingType>"));
  EXPECT_FALSE(parse(object("a%00b"), "<EncodingType>url</EncodingType>"));
  EXPECT_FALSE(parse("", "<IsTruncated>true</IsTruncated>"));  // goes on, but where?
  for (const char* bad : {"", "<html/>", "<ListBucketResult>", "plain text"}) {
    EXPECT_FALSE(parse_s3_page(bad)) << bad;
  }
}

TEST(SourceS3List, Errors) {
  const XmlError error = parse_xml_error(
      "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>");
  EXPECT_EQ(error.code, "AuthorizationHeaderMalformed");
  EXPECT_EQ(error.region, "eu-west-1");
  EXPECT_EQ(parse_xml_error("<html>").code, "");
}

TEST(SourceS3List, AnEtagThatMayBeAnMd5) {
  EXPECT_EQ(md5_of_etag("\"5eb63bbbe01eeed093cb22bb8f5acdc3\"").size(), 16U);
  EXPECT_EQ(md5_of_etag("5EB63BBBE01EEED093CB22BB8F5ACDC3")[0], '\x5e');
  for (const char* none :
       {"", "\"\"", "\"5eb63bbbe01eeed093cb22bb8f5acdc3-2\"", "\"short\"",
        "\"zzb63bbbe01eeed093cb22bb8f5acdc3\"", "\"%eb63bbbe01eeed093cb22bb8f5acdc3\""}) {
    EXPECT_EQ(md5_of_etag(none), "") << none;
  }
}

TEST(SourceS3Url, BucketAndPath) {
  auto url = parse_s3_url("s3://models/llama 3%20#1?/x+y/");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->bucket, "models");
  EXPECT_EQ(url->path, "llama 3%20#1?/x+y/");  // as it stands
  EXPECT_EQ(parse_s3_url("s3://models")->path, "");
  EXPECT_EQ(parse_s3_url("s3://models/")->path, "");
  for (const char* bad :
       {"s3://", "s3:///x", "s3://ab/x", "s3://bad bucket/x", "s3://-models/x",
        "s3://arn:aws:s3:eu-west-1:1:accesspoint/p/x", "s3://models--use1-az4--x-s3/x"}) {
    const auto refused = parse_s3_url(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, ExitCode::kUsage);
  }
}

TEST(SourceS3Url, PlacesOnAws) {
  const S3Service aws;
  EXPECT_EQ(s3_place(aws, "models", "eu-west-1").origin,
            "https://models.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(s3_place(aws, "models", "eu-west-1").base, "");
  EXPECT_EQ(s3_place(aws, "my.models", "eu-west-1").origin, "https://s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(s3_place(aws, "my.models", "eu-west-1").base, "/my.models");
  EXPECT_EQ(s3_place(aws, "Old_Name", "us-east-1").base, "/Old_Name");
  EXPECT_EQ(s3_place(aws, "models", "cn-north-1").origin,
            "https://models.s3.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(s3_place({"", true, true}, "models", "us-gov-west-1").origin,
            "https://models.s3-fips.dualstack.us-gov-west-1.amazonaws.com");
}

TEST(SourceS3Url, EndpointsOfVariables) {
  const Variables both = {{"AWS_ENDPOINT_URL", "http://minio:9000/"},
                          {"AWS_ENDPOINT_URL_S3", "https://gw.example/s3/"}};
  auth::AwsProfile profile;
  profile.settings["endpoint_url"] = "http://profile";
  auto service = find_s3_service(both, profile);
  ASSERT_TRUE(service);
  S3Place place = s3_place(*service, "models", "eu-west-1");
  EXPECT_EQ(place.origin, "https://gw.example");
  EXPECT_EQ(place.base, "/s3/models");
  service = find_s3_service({{"AWS_ENDPOINT_URL", "http://minio:9000/"}}, {});
  place = s3_place(*service, "models", "eu-west-1");
  EXPECT_EQ(place.origin, "http://minio:9000");
  EXPECT_EQ(place.base, "/models");
  EXPECT_EQ(find_s3_service({}, profile)->endpoint, "http://profile");
  EXPECT_EQ(find_s3_service(
                {{"AWS_ENDPOINT_URL", "http://m"}, {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true"}},
                profile)
                ->endpoint,
            "");
  profile.settings["s3.endpoint_url"] = "https://oss.example/";
  EXPECT_EQ(s3_place(*find_s3_service({}, profile), "models", "x").origin, "https://oss.example");
  profile.settings["s3.addressing_style"] = "virtual";
  place = s3_place(*find_s3_service({}, profile), "models", "x");
  EXPECT_EQ(place.origin, "https://models.oss.example");
  EXPECT_EQ(place.base, "");
  place = s3_place(*find_s3_service({}, profile), "my.models", "x");
  EXPECT_EQ(place.origin + place.base, "https://oss.example/my.models");
  for (const char* bad : {"minio:9000", "http://u:SECRET@minio", "http://minio?x=SECRET"}) {
    const auto refused = find_s3_service({{"AWS_ENDPOINT_URL", bad}}, {});
    ASSERT_FALSE(refused) << bad;
    EXPECT_THAT(refused.error().message, HasSubstr("AWS_ENDPOINT_URL: "));
    EXPECT_THAT(refused.error().message, Not(HasSubstr("SECRET")));
  }
}

TEST(SourceS3Url, Regions) {
  EXPECT_TRUE(is_region("eu-west-1"));
  for (const char* bad : {"", "eu west", "evil.example/", "EU-WEST-1", "eu-west-1\n"}) {
    EXPECT_FALSE(is_region(bad)) << bad;
  }
}

}  // namespace
}  // namespace stage_model::source
