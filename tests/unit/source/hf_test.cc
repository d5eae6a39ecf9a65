#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/source/hf_tree.h"
#include "engine/source/hf_url.h"
#include "engine/source/https_manifest.h"
#include "engine/source/plain_http.h"

namespace stage_model::source {
namespace {

using testing::HasSubstr;

std::string parsed(const std::string& text) {
  const auto url = parse_hf_url(text, {{"HF_ENDPOINT", "https://mirror/hub/"}});
  if (!url) return "refused";
  return url->kind + " " + url->repository + " " + url->revision + " " + url->path;
}

TEST(SourceHf, Urls) {
  EXPECT_EQ(parsed("hf://o/n"), "models o/n main ");
  EXPECT_EQ(parsed("hf://o/n@v1.0/a/b c"), "models o/n v1.0 a/b c");
  EXPECT_EQ(parsed("hf://o/n@refs/pr/1/x"), "models o/n refs/pr/1 x");
  EXPECT_EQ(parsed("hf://datasets/o/n@a%2Fb"), "datasets o/n a/b ");
  for (const char* bad : {"hf://", "hf://o", "hf://o/", "hf://o/n@", "hf://../n", "hf://o/a b"}) {
    EXPECT_EQ(parsed(bad), "refused") << bad;
  }
  const auto url = parse_hf_url("hf://o/n", {{"HF_ENDPOINT", "https://mirror/hub/"}});
  EXPECT_EQ(url->origin + url->base, "https://mirror/hub");
}

TEST(SourceHf, Answers) {
  const std::string sha(40, 'a');
  EXPECT_EQ(*parse_hf_commit("{\"sha\":\"" + sha + "\"}"), sha);
  EXPECT_FALSE(parse_hf_commit("{\"sha\":\"../../x\"}"));
  EXPECT_FALSE(parse_hf_commit("<html>"));
  const auto entries = parse_hf_tree(
      R"([{"type":"directory","path":"d","oid":"x","size":0},{"type":"file","path":"d/\u00e4","size":3,"oid":")" +
      sha + R"("},{"type":"file","path":"w","size":9,"oid":")" + sha +
      R"(","lfs":{"size":6000000000000,"oid":")" + std::string(64, 'b') + R"("}}])");
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[0].hash.kind, plan::StoreHash::Kind::kSha1Git);
  EXPECT_EQ((*entries)[1].size, 6000000000000U);
  EXPECT_EQ((*entries)[1].hash.bytes.size(), 32U);
  for (const char* bad : {"{}", "[{}]", R"([{"type":"file","path":"a","size":-1}])",
                          R"([{"type":"file","path":"a","size":1,"lfs":{"size":1,"oid":"zz"}}])"}) {
    EXPECT_FALSE(parse_hf_tree(bad)) << bad;
  }
  EXPECT_EQ(next_link("<https://h/a?c=1>; rel=\"prev\", <https://h/b>; rel=\"next\""),
            "https://h/b");
  EXPECT_EQ(next_link("<https://h/a>; rel=\"prev\""), "");
  EXPECT_EQ(next_link("<"), "");
}

TEST(SourceHttps, NamesInManifests) {
  const http::Location base{"https://h", "/m/list.manifest"};
  const auto files = parse_https_manifest("a/x%2520\t1\r\n/m/a/b/y?sig=S\t2\n", base);
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ((*files)[0].name, "x%20");
  EXPECT_EQ((*files)[1].name, "b/y");
  EXPECT_EQ((*files)[1].place.url(), "https://h/m/a/b/y?sig=S");
  for (const char* bad : {"", "#\n", "x", "x\t-1", "x\t1\tab", "x\t1\t\tmore", "d/\t1",
                          "x\t99999999999999999999", "%zz\t1"}) {
    EXPECT_FALSE(parse_https_manifest(bad, base)) << bad;
  }
}

TEST(SourceHttps, PlainHttp) {
  const auto allowed = [](const char* url, bool secret, const Variables& variables = {}) {
    return check_plain_http(*http::parse_url(url), secret, variables).has_value();
  };
  EXPECT_TRUE(allowed("https://x", true));
  EXPECT_TRUE(allowed("http://[::1]/", true));
  EXPECT_TRUE(allowed("http://10.1.2.3", false));
  EXPECT_FALSE(allowed("http://10.1.2.3", true));
  EXPECT_FALSE(allowed("http://172.32.0.1", false));
  EXPECT_FALSE(allowed("http://127.0.0.1.evil.example", false));
  EXPECT_TRUE(allowed("http://x", true, {{"STAGE_ALLOW_HTTP", "1"}}));
}

}  // namespace
}  // namespace stage_model::source
