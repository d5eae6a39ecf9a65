#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <memory>

#include "engine/auth/google.h"
#include "engine/base/crypto.h"

namespace stage_model::auth {
namespace {

constexpr char kScope[] = "https://www.googleapis.com/auth/devstorage.read_only";
constexpr int kLife = 3600;  // seconds; the most that Google takes

std::string base64_url(std::string_view bytes) {
  std::string out = base64_encode(bytes);
  std::replace(out.begin(), out.end(), '+', '-');
  std::replace(out.begin(), out.end(), '/', '_');
  while (out.ends_with('=')) out.pop_back();
  return out;
}

// For values that hold no control bytes.
std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string sign_rs256(EVP_PKEY* key, std::string_view text) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  std::size_t length = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &length, data, text.size()) != 1) {
    return {};
  }
  std::string out(length, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &length, data,
                     text.size()) != 1) {
    return {};
  }
  out.resize(length);
  return out;
}

}  // namespace

Result<std::string> google_jwt(const std::string& email, const std::string& key_id,
                               const std::string& private_key, const std::string& audience,
                               std::time_t now) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(
      BIO_new_mem_buf(private_key.data(), static_cast<int>(private_key.size())), &BIO_free);
  // A key with a password would ask the terminal for it: there is none to ask.
  pem_password_cb* const no_password = [](char*, int, int, void*) { return -1; };
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(memory.get(), nullptr, no_password, nullptr), &EVP_PKEY_free);
  if (!key || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA) {
    return fail(ExitCode::kSource, "its private_key is not an RSA key in PEM form");
  }
  const std::string header =
      fmt::format(R"({{"alg":"RS256","typ":"JWT","kid":{}}})", json_text(key_id));
  const std::string claims =
      fmt::format(R"({{"iss":{},"scope":{},"aud":{},"iat":{},"exp":{}}})", json_text(email),
                  json_text(kScope), json_text(audience), now, now + kLife);
  std::string out = base64_url(header) + "." + base64_url(claims);
  const std::string signature = sign_rs256(key.get(), out);
  if (signature.empty()) return fail(ExitCode::kSource, "its private_key does not sign");
  return out + "." + base64_url(signature);
}

}  // namespace stage_model::auth
