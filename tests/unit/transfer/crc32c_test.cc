#include "engine/transfer/crc32c.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/transfer/digests.h"

namespace stage_model::transfer {
namespace {

const std::byte* bytes_of(const std::string& text) {
  return reinterpret_cast<const std::byte*>(text.data());
}

struct Vector {
  std::string bytes;
  std::uint32_t crc;
};

// RFC 3720, B.4, and the check value of every catalogue.
std::vector<Vector> vectors() {
  std::string up, down;
  for (int i = 0; i < 32; ++i) up += static_cast<char>(i);
  for (int i = 31; i >= 0; --i) down += static_cast<char>(i);
  return {{"", 0},
          {std::string(32, '\0'), 0x8a9136aa},
          {std::string(32, '\xff'), 0x62a8ab43},
          {up, 0x46dd794e},
          {down, 0x113fdb5c},
          {"123456789", 0xe3069283}};
}

TEST(Crc32c, PublishedVectors) {
  for (const auto& [bytes, crc] : vectors()) {
    EXPECT_EQ(crc32c(0, bytes_of(bytes), bytes.size()), crc);
    EXPECT_EQ(crc32c_by_table(0, bytes_of(bytes), bytes.size()), crc);
  }
}

TEST(Crc32c, AnyCutAndAlignmentGiveTheSame) {
  std::string bytes(1000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 37 + i / 7);
  const std::uint32_t whole = crc32c_by_table(0, bytes_of(bytes), bytes.size());
  for (std::size_t cut = 0; cut <= 40; ++cut) {
    const std::uint32_t first = crc32c(0, bytes_of(bytes), cut);
    EXPECT_EQ(crc32c(first, bytes_of(bytes) + cut, bytes.size() - cut), whole) << cut;
  }
}

TEST(Crc32c, AsStoresStateIt) {
  plan::Object object;
  object.size = 9;
  object.hash.kind = plan::StoreHash::Kind::kCrc32c;
  const auto hasher = make_store_hasher(object);
  ASSERT_NE(hasher, nullptr);
  hasher->update(bytes_of("1234"), 4);
  hasher->update(bytes_of("56789"), 5);
  EXPECT_EQ(hasher->finish(), "\xe3\x06\x92\x83");
}

}  // namespace
}  // namespace stage_model::transfer
