#include "engine/store/digest.h"

#include <gtest/gtest.h>

#include "tests/unit/store/support.h"

namespace stage_model::store {
namespace {

TEST(Digest, InPiecesAndInOne) {
  const Model model = Model().add("a", 100'003);
  const AlignedBuffer bytes = model.bytes(0, 0, 100'003);
  Digester digester;
  digester.add(bytes.get(), 4096);
  digester.add(bytes.get() + 4096, 100'003 - 4096);
  EXPECT_EQ(digester.finish(), digest(bytes.get(), 100'003));
  EXPECT_FALSE(digester.finish() == digest(bytes.get(), 100'002));
}

// Manifests on disk depend on it.
TEST(Digest, IsXxh3Of128Bits) {
  EXPECT_EQ(digest(nullptr, 0), (Digest{0x6001c324468d497f, 0x99aa06d3014798d8}));
}

TEST(FindExtent, OnlyExactlyThatOne) {
  const std::vector<ProvenExtent> extents = {{0, 10, {}}, {10, 20, {}}, {50, 5, {}}};
  EXPECT_EQ(find_extent(extents, 10, 20), &extents[1]);
  EXPECT_EQ(find_extent(extents, 50, 5), &extents[2]);
  EXPECT_EQ(find_extent(extents, 10, 10), nullptr);
  EXPECT_EQ(find_extent(extents, 11, 20), nullptr);
  EXPECT_EQ(find_extent(extents, 55, 5), nullptr);
  EXPECT_EQ(find_extent({}, 0, 0), nullptr);
}

}  // namespace
}  // namespace stage_model::store
