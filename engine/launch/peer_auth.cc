#include "engine/launch/peer_auth.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstdlib>

namespace stage_model::launch {
namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

}  // namespace

std::string Claim::text() const {
  return fmt::format("stage-model 1\n{}\n{}\n{}\n{}\n{}\n{}\n",
                     role == Role::kChild ? "child" : "parent", job, child, parent,
                     hex(child_nonce), hex(parent_nonce));
}

std::string hmac_sha256(const std::string& key, const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &length);
  return {reinterpret_cast<const char*>(digest), length};
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  // Without randomness nothing here is safe; OpenSSL seeds itself from the kernel.
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) != 1) {
    std::abort();
  }
  return bytes;
}

bool equal_secrets(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

LinkKeys make_keys(const std::string& child_share, const std::string& parent_share,
                   const Claim& claim) {
  Claim connection = claim;
  connection.role = Claim::Role::kChild;  // both sides must get the same text
  const std::string master = hmac_sha256(child_share + parent_share, connection.text());
  return {hmac_sha256(master, "up"), hmac_sha256(master, "down")};
}

Result<std::unique_ptr<Authenticator>> make_authenticator(const Config& config) {
  if (!config.key_file.empty()) return make_key_authenticator(config.key_file);
  return make_munge_authenticator(config.munge_socket);
}

}  // namespace stage_model::launch
