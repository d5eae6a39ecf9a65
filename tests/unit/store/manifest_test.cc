#include "engine/store/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/store/names.h"

namespace stage_model::store {
namespace {

using ::testing::HasSubstr;

Manifest example() {
  Manifest manifest;
  manifest.source = "az://acct/models/a%20\"b\"";
  manifest.directories = {"empty", "x/y"};
  Manifest::File file;
  file.name = "a";
  file.size = 8'589'934'592;
  file.etag = "\"0x8DB\"";
  file.modified_ns = 1'700'000'000'123'456'789;
  file.inode = ~std::uint64_t{0};
  file.extents = {{0, 4'294'967'296, {1, 2}}, {4'294'967'296, 4'294'967'296, {~0U, 0}}};
  manifest.files.push_back(file);
  file = {};
  file.name = "b\xff\x01%\n\"\\";
  file.modified_ns = -5;
  manifest.files.push_back(file);
  return manifest;
}

TEST(Manifest, ComesBackAsItWent) {
  const Manifest in = example();
  const std::string text = format_manifest(in);
  const auto out = parse_manifest(text);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->source, in.source);
  EXPECT_EQ(out->directories, in.directories);
  ASSERT_EQ(out->files.size(), in.files.size());
  for (std::size_t i = 0; i < in.files.size(); ++i) {
    EXPECT_EQ(out->files[i].name, in.files[i].name);
    EXPECT_EQ(out->files[i].size, in.files[i].size);
    EXPECT_EQ(out->files[i].etag, in.files[i].etag);
    EXPECT_EQ(out->files[i].modified_ns, in.files[i].modified_ns);
    EXPECT_EQ(out->files[i].inode, in.files[i].inode);
    ASSERT_EQ(out->files[i].extents.size(), in.files[i].extents.size());
    for (std::size_t j = 0; j < in.files[i].extents.size(); ++j) {
      EXPECT_EQ(out->files[i].extents[j].offset, in.files[i].extents[j].offset);
      EXPECT_EQ(out->files[i].extents[j].length, in.files[i].extents[j].length);
      EXPECT_EQ(out->files[i].extents[j].digest, in.files[i].extents[j].digest);
    }
  }
  EXPECT_EQ(format_manifest(*out), text);
  EXPECT_NE(out->find("a"), nullptr);
  EXPECT_EQ(out->find("aa"), nullptr);
}

// Format 1 as it lies on disks already: this text may never stop being readable.
TEST(Manifest, FormatOneIsStable) {
  const char text[] = R"({"format":1,
"source":"az://acct/c/p",
"directories":[
"d"],
"objects":[
{"name":"a b%25","size":3,"etag":"%221%22","modified_ns":7,"inode":9,"extents":[[3,"000000000000000200000000000000ff"]]}]}
)";
  const auto manifest = parse_manifest(text);
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->files[0].name, "a b%");
  EXPECT_EQ(manifest->files[0].etag, "\"1\"");
  EXPECT_EQ(manifest->files[0].extents[0].digest, (Digest{255, 2}));
  EXPECT_EQ(format_manifest(*manifest), text);
}

TEST(Manifest, EveryTruncationIsRefused) {
  const std::string text = format_manifest(example());
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_FALSE(parse_manifest(text.substr(0, length))) << length;
  }
}

TEST(Manifest, NoFlippedBitCrashesOrMakesABadName) {
  const std::string text = format_manifest(example());
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = text;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      const auto manifest = parse_manifest(bad);
      if (!manifest) continue;
      for (const auto& file : manifest->files) EXPECT_TRUE(safe_name(file.name));
    }
  }
}

std::string with(const std::string& objects) {
  return R"({"format":1,"source":"s","directories":[],"objects":[)" + objects + "]}";
}

std::string entry(const std::string& name, const std::string& rest) {
  return R"({"name":")" + name + R"(","etag":"e","modified_ns":0,"inode":1,)" + rest + "}";
}

constexpr char kEmpty[] = R"("size":0,"extents":[])";

TEST(Manifest, StrictAboutEverything) {
  ASSERT_TRUE(parse_manifest(with(entry("a", kEmpty))));
  const auto refused = [](const std::string& text) {
    const auto manifest = parse_manifest(text);
    EXPECT_FALSE(manifest) << text;
    return manifest ? std::string() : manifest.error().message;
  };
  for (const char* name : {"", "/a", "a/", "a//b", "..", "a/../b", ".", "./a", "%00",
                           ".stage-model", ".stage-model/manifest", "%", "%4", "%zz", "%2f../x"}) {
    refused(with(entry(name, kEmpty)));
  }
  refused(with(entry("b", kEmpty) + "," + entry("a", kEmpty)));
  refused(with(entry("a", kEmpty) + "," + entry("a", kEmpty)));
  refused(with(entry("a", R"("size":0)")));
  refused(with(entry("a", R"("size":0,"extents":[],"more":1)")));
  refused(with(entry("a", R"("size":0,"size":0,"extents":[])")));
  refused(with(entry("a", R"("size":-1,"extents":[])")));
  refused(with(entry("a", R"("size":1.0,"extents":[])")));
  refused(with(entry("a", R"("size":"1","extents":[])")));
  const std::string hex(32, '0');
  ASSERT_TRUE(parse_manifest(with(entry("a", R"("size":5,"extents":[[5,")" + hex + R"("]])"))));
  for (const std::string& extents :
       {std::string("[]"), std::string("5"), std::string("[[5]]"), "[[4,\"" + hex + "\"]]",
        "[[6,\"" + hex + "\"]]", "[[5,\"" + hex + "\"],[0,\"" + hex + "\"]]",
        "[[5,\"" + hex.substr(1) + "\"]]", "[[5,\"" + hex.substr(1) + "G\"]]",
        "[[5,\"" + hex + "\",1]]",
        "[[1,\"" + hex + "\"],[18446744073709551615,\"" + hex + "\"]]"}) {
    refused(with(entry("a", R"("size":5,"extents":)" + extents)));
  }
  refused(R"({"format":1,"source":"s","directories":[]})");
  refused(R"({"format":1,"source":"s","directories":[],"objects":[],"x":1})");
  refused(R"({"format":1,"source":"s","directories":["../x"],"objects":[]})");
  refused("[]");
  refused("{}");
  EXPECT_THAT(refused(R"({"format":2,"whatever":1})"), HasSubstr("format 2"));
}

TEST(Names, EncodingIsReversible) {
  for (const std::string& name :
       {std::string("plain/name.bin"), std::string("100%"), std::string("%41"),
        std::string("\xc3\xa4"), std::string("\xc3"), std::string("a\"b\\c\x7f\x1f"),
        std::string("\0", 1), std::string()}) {
    std::string back;
    EXPECT_TRUE(decode_name(encode_name(name), &back));
    EXPECT_EQ(back, name);
  }
  EXPECT_EQ(encode_name("\xc3\xa4"), "\xc3\xa4");  // readable where it can be
  EXPECT_EQ(encode_name("\xc3"), "%C3");
}

}  // namespace
}  // namespace stage_model::store
