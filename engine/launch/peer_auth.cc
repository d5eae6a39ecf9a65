#include "engine/launch/peer_auth.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <cstdlib>

#include "engine/base/text.h"

namespace stage_model::launch {

std::string Claim::text() const {
  return fmt::format("stage-model 1\n{}\n{}\n{}\n{}\n{}\n{}\n",
                     role == Role::kChild ? "child" : "parent", job, child, parent,
                     to_hex(child_nonce), to_hex(parent_nonce));
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
