// What must hold for the entries of any store's list.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/source/entries.h"
#include "tests/fuzz/fuzz.h"

namespace stage_model::fuzz {

inline std::size_t length_of(plan::StoreHash::Kind kind) {
  switch (kind) {
    case plan::StoreHash::Kind::kMd5:
      return 16;
    case plan::StoreHash::Kind::kSha256:
      return 32;
    case plan::StoreHash::Kind::kCrc32c:
      return 4;
    case plan::StoreHash::Kind::kSha1Git:
      return 20;
    case plan::StoreHash::Kind::kNone:
      break;
  }
  return 0;
}

inline void check_entries(std::vector<source::Entry> entries) {
  for (const source::Entry& entry : entries) {
    expect(!entry.key.empty(), "an entry has a name");
    expect(entry.hash.bytes.size() == length_of(entry.hash.kind), "a hash is as long as its kind");
  }
  const auto listing = source::make_listing(std::move(entries), "", "SOURCE");
  if (!ok_or_one_line(listing)) return;
  const auto& objects = listing->objects;
  expect(!objects.empty(), "a listing has an object");
  for (std::size_t i = 1; i < objects.size(); ++i) {
    expect(objects[i - 1].name < objects[i].name, "objects are sorted, and none is there twice");
  }
}

}  // namespace stage_model::fuzz
