#include "engine/doubts.h"

#include <gmock/gmock.h>

#include <map>

namespace stage_model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kPointer =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

std::vector<std::string> doubts(const std::map<std::string, std::string>& files) {
  plan::Listing listing;
  std::vector<std::string> texts;
  for (const auto& [name, text] : files) {
    listing.objects.emplace_back().name = name;
    listing.objects.back().size = text.size();
    texts.push_back(text);
  }
  return find_doubts(listing, [&](std::uint32_t i) { return std::optional(texts.at(i)); });
}

TEST(Doubts, PointersInPlaceOfWeights) {
  EXPECT_THAT(
      doubts({{"model.safetensors", kPointer}, {"notes.txt", kPointer}}),
      ElementsAre("'model.safetensors' is a pointer of git LFS, not the weights: upload the "
                  "files themselves"));
  EXPECT_THAT(doubts({{"a.bin", kPointer}, {"b.gguf", kPointer}}),
              ElementsAre("'a.bin' and 1 more are pointers of git LFS, not the weights: upload the "
                          "files themselves"));
  EXPECT_THAT(doubts({{"small.bin", std::string(kPointer.size(), 'w')}}), IsEmpty());
}

TEST(Doubts, AnIndexThatNamesWhatIsNotThere) {
  const std::string index =
      R"({"metadata": {}, "weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})";
  EXPECT_THAT(doubts({{"x/m.index.json", index},
                      {"x/model-1.safetensors", "w"},
                      {"x/model-2.safetensors", "w"}}),
              IsEmpty());
  EXPECT_THAT(
      doubts({{"x/m.index.json", index},
              {"x/model-1.safetensors", "w"},
              {"model-2.safetensors", "w"}}),
      ElementsAre("'x/m.index.json' names 'model-2.safetensors' that is not there, staged as "
                  "the source has it"));
  EXPECT_THAT(
      doubts({{"m.index.json", index}}),
      ElementsAre("'m.index.json' names 'model-1.safetensors' and 1 more that are not there, "
                  "staged as the source has it"));
}

TEST(Doubts, WhatIsNoIndexIsNoDoubt) {
  for (const char* text : {"", "{", "[]", R"({"weight_map": []})", R"({"weight_map": {"a": 1}})"}) {
    EXPECT_THAT(doubts({{"m.index.json", text}}), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace stage_model
