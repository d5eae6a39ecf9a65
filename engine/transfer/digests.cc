#include "engine/transfer/digests.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "engine/plan/names.h"
#include "engine/transfer/crc32c.h"

namespace stage_model::transfer {
namespace {

class EvpHasher : public StoreHasher {
 public:
  explicit EvpHasher(const EVP_MD* kind) : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), kind, nullptr);
  }
  void update(const std::byte* data, std::size_t length) override {
    EVP_DigestUpdate(context_.get(), data, length);
  }
  std::string finish() override {
    std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
    unsigned length = 0;
    EVP_DigestFinal_ex(context_.get(), out.data(), &length);
    return {reinterpret_cast<const char*>(out.data()), length};
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

class Crc32cHasher : public StoreHasher {
 public:
  void update(const std::byte* data, std::size_t length) override {
    crc_ = crc32c(crc_, data, length);
  }
  // Stores state it with the highest byte first.
  std::string finish() override {
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((crc_ >> shift) & 255);
    return out;
  }

 private:
  std::uint32_t crc_ = 0;
};

}  // namespace

std::vector<store::Digest> digest_extents(const plan::Layout& layout, const plan::Chunk& chunk,
                                          const std::byte* buffer) {
  std::vector<store::Digest> digests;
  digests.reserve(chunk.extent_count);
  for (std::uint32_t i = 0; i < chunk.extent_count; ++i) {
    const plan::Extent& extent = layout.extents[chunk.first_extent + i];
    digests.push_back(store::digest(buffer + extent.at, extent.length));
  }
  return digests;
}

std::array<std::uint64_t, 2> chunk_check(const std::vector<store::Digest>& extents) {
  const store::Digest all = store::digest(reinterpret_cast<const std::byte*>(extents.data()),
                                          extents.size() * sizeof(store::Digest));
  return {all.low, all.high};
}

std::unique_ptr<StoreHasher> make_store_hasher(const plan::Object& object) {
  switch (object.hash.kind) {
    case plan::StoreHash::Kind::kMd5:
      return std::make_unique<EvpHasher>(EVP_md5());
    case plan::StoreHash::Kind::kSha256:
      return std::make_unique<EvpHasher>(EVP_sha256());
    case plan::StoreHash::Kind::kCrc32c:
      return std::make_unique<Crc32cHasher>();
    case plan::StoreHash::Kind::kSha1Git: {
      // Git hashes a blob behind its type and length.
      auto hasher = std::make_unique<EvpHasher>(EVP_sha1());
      const std::string head = fmt::format("blob {}", object.size);
      hasher->update(reinterpret_cast<const std::byte*>(head.c_str()), head.size() + 1);
      return hasher;
    }
    default:
      return nullptr;
  }
}

Error store_hash_error(const plan::Object& object) {
  return {ExitCode::kIntegrity,
          fmt::format("object {} does not have the hash that its store states: the bytes are "
                      "damaged, at the store or on the way; upload it again or stage once more",
                      plan::printable(object.name))};
}

Status check_store_hashes(const plan::Listing& listing, const plan::Layout& layout,
                          const plan::Chunk& chunk, const std::byte* buffer,
                          Error (*error)(const plan::Object&)) {
  for (std::uint32_t i = 0; i < chunk.extent_count; ++i) {
    const plan::Extent& extent = layout.extents[chunk.first_extent + i];
    const plan::Object& object = listing.objects[extent.object];
    if (extent.length != object.size) continue;
    const auto hasher = make_store_hasher(object);
    if (hasher == nullptr) continue;
    hasher->update(buffer + extent.at, extent.length);
    if (hasher->finish() != object.hash.bytes) return tl::unexpected(error(object));
  }
  return {};
}

}  // namespace stage_model::transfer
