// The signer against what AWS publishes: the examples of the S3 guide ("Signature Calculations for
// the Authorization Header"), of the IAM guide, and cases of aws-sig-v4-test-suite.
#include "engine/auth/aws_sigv4.h"

#include <gtest/gtest.h>

namespace stage_model::auth {
namespace {

constexpr std::time_t kMay24 = 1369353600;     // 2013-05-24T00:00:00Z
constexpr std::time_t kAugust30 = 1440938160;  // 2015-08-30T12:36:00Z

std::string header(const http::Request& request, const std::string& name) {
  for (const auto& [key, value] : request.headers) {
    if (key == name) return value;
  }
  return "";
}

std::string signature(const http::Request& request) {
  const std::string text = header(request, "Authorization");
  return text.substr(text.rfind("Signature=") + 10);
}

http::Request s3_request(std::string path, http::Query query = {}) {
  http::Request request;
  request.origin = "https://examplebucket.s3.amazonaws.com";
  request.path = std::move(path);
  request.query = std::move(query);
  return request;
}

std::string s3_signature(http::Request request) {
  aws_sign(request, {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""},
           {"us-east-1", "s3"}, kMay24);
  return signature(request);
}

TEST(AuthAwsSigV4, S3GetObjectWithRange) {
  http::Request request = s3_request("/test.txt");
  request.headers.emplace_back("Range", "bytes=0-9");
  aws_sign(request, {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""},
           {"us-east-1", "s3"}, kMay24);
  EXPECT_EQ(header(request, "Authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(AuthAwsSigV4, S3ListObjects) {
  EXPECT_EQ(s3_signature(s3_request("/", {{"max-keys", "2"}, {"prefix", "J"}})),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
  EXPECT_EQ(s3_signature(s3_request("/", {{"prefix", "J"}, {"max-keys", "2"}})),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(AuthAwsSigV4, S3QueryWithoutAValue) {
  EXPECT_EQ(s3_signature(s3_request("/", {{"lifecycle", ""}})),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(AuthAwsSigV4, TheGuideOfIam) {
  http::Request request;
  request.origin = "https://iam.amazonaws.com";
  request.path = "/";
  request.query = {{"Action", "ListUsers"}, {"Version", "2010-05-08"}};
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}};
  aws_sign(request, {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""},
           {"us-east-1", "iam"}, kAugust30);
  EXPECT_EQ(signature(request), "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
}

struct SuiteCase {
  const char* name;
  const char* method;
  const char* path;
  http::Query query;
  std::vector<std::pair<std::string, std::string>> headers;
  const char* session;
  const char* signature;
};

class Suite : public testing::TestWithParam<SuiteCase> {};

TEST_P(Suite, HasThePublishedSignature) {
  const SuiteCase& given = GetParam();
  http::Request request;
  request.origin = "https://example.amazonaws.com:443";  // a default port is not sent
  request.method = given.method;
  request.path = given.path;
  request.query = given.query;
  request.headers = given.headers;
  aws_sign(request, {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", given.session},
           {"us-east-1", "service"}, kAugust30);
  EXPECT_EQ(header(request, "X-Amz-Date"), "20150830T123600Z");
  EXPECT_EQ(signature(request), given.signature);
}

constexpr char kUnreserved[] = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr char kSession[] =
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfI"
    "eoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0"
    "wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDry"
    "pNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";

INSTANTIATE_TEST_SUITE_P(
    AuthAwsSigV4, Suite,
    testing::Values(SuiteCase{"get_vanilla",
                              "GET",
                              "/",
                              {},
                              {},
                              "",
                              "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
                    SuiteCase{"get_empty_path",
                              "GET",
                              "",
                              {},
                              {},
                              "",
                              "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
                    SuiteCase{"post_vanilla",
                              "POST",
                              "/",
                              {},
                              {},
                              "",
                              "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
                    SuiteCase{"get_vanilla_query_order_key_case",
                              "GET",
                              "/",
                              {{"Param2", "value2"}, {"Param1", "value1"}},
                              {},
                              "",
                              "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
                    SuiteCase{"get_vanilla_query_unreserved",
                              "GET",
                              "/",
                              {{kUnreserved, kUnreserved}},
                              {},
                              "",
                              "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
                    SuiteCase{"get_vanilla_utf8_query",
                              "GET",
                              "/",
                              {{"\xe1\x88\xb4", "bar"}},
                              {},
                              "",
                              "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
                    SuiteCase{"get_utf8",
                              "GET",
                              "/%E1%88%B4",
                              {},
                              {},
                              "",
                              "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
                    SuiteCase{"get_space",
                              "GET",
                              "/example%20space/",
                              {},
                              {},
                              "",
                              "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
                    SuiteCase{"get_header_value_trim",
                              "GET",
                              "/",
                              {},
                              {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}},
                              "",
                              "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
                    SuiteCase{"post_header_key_sort",
                              "POST",
                              "/",
                              {},
                              {{"My-Header1", "value1"}},
                              "",
                              "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
                    SuiteCase{"post_sts_header_before",
                              "POST",
                              "/",
                              {},
                              {},
                              kSession,
                              "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"}),
    [](const auto& info) { return std::string(info.param.name); });

// The suite has no key with '=' or a port: what libcurl's own signer gets wrong.
TEST(AuthAwsSigV4, WhatIsSignedIsWhatIsSent) {
  http::Request request;
  request.origin = "http://127.0.0.1:9000";
  request.path = "/bucket/" + http::encode_path("run=1+1/a b%20?#/../x=");
  request.query = {{"prefix", "a=b&c d+e/"}, {"list-type", "2"}, {"a", "2"}, {"a-b", "1"}};
  request.headers = {{"If-Match", "\"x\""}, {"Range", "bytes=0-1"}};
  std::string names;
  EXPECT_EQ(aws_canonical_request(request, names),
            "GET\n/bucket/run%3D1%2B1/a%20b%2520%3F%23/../x%3D\n"
            "a=2&a-b=1&list-type=2&prefix=a%3Db%26c%20d%2Be%2F\n"
            "host:127.0.0.1:9000\nif-match:\"x\"\nrange:bytes=0-1\n\nhost;if-match;range\n"
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(names, "host;if-match;range");
}

}  // namespace
}  // namespace stage_model::auth
