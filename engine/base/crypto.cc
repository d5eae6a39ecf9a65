#include "engine/base/crypto.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <limits>

namespace stage_model {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // EVP writes a NUL too
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes_of(bytes),
                                     static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0 || text.size() > std::numeric_limits<int>::max()) return std::nullopt;
  // EVP_DecodeBlock skips white space and takes '=' for zero bits anywhere; we do neither.
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  const auto plain = text.substr(0, text.size() - padding);
  if (plain.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") !=
      std::string_view::npos) {
    return std::nullopt;
  }
  std::string out(3 * (text.size() / 4), '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes_of(text),
                                     static_cast<int>(text.size()));
  if (length < 0) return std::nullopt;
  out.resize(static_cast<std::size_t>(length) - padding);
  return out;
}

std::string hmac_sha256(std::string_view key, std::string_view message) {
  std::string out(EVP_MAX_MD_SIZE, '\0');
  unsigned length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(message), message.size(),
       reinterpret_cast<unsigned char*>(out.data()), &length);
  out.resize(length);
  return out;
}

}  // namespace stage_model
