// What proving who we are needs of OpenSSL (target stage_crypto, which the plugin does not link).
// Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stage_model {

std::string base64_encode(std::string_view bytes);
// Strict: whole groups of four, padding at the end only.
std::optional<std::string> base64_decode(std::string_view text);

std::string hmac_sha256(std::string_view key, std::string_view message);  // raw, 32 bytes

}  // namespace stage_model
