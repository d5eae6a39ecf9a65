#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>

#include "engine/auth/azure_login.h"
#include "engine/http/url.h"

namespace stage_model::auth {
namespace {

using simdjson::dom::element;

std::optional<std::int64_t> number_of(const element& parent, const char* name) {
  element value;
  if (parent[name].get(value) != simdjson::SUCCESS) return std::nullopt;
  std::int64_t number = 0;
  if (value.get(number) == simdjson::SUCCESS) return number;
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string_view text_of(const element& parent, const char* name) {
  std::string_view text;
  return parent[name].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

bool token_byte(char c) { return c > 0x20 && c < 0x7f; }

}  // namespace

Result<Credential> parse_azure_token(const std::string& json, std::time_t now) {
  simdjson::dom::parser parser;
  element document;
  if (parser.parse(json.data(), json.size()).get(document) != simdjson::SUCCESS) {
    return fail(ExitCode::kSource, "the answer is not JSON");
  }
  Credential proof;
  proof.secret = std::string(text_of(document, "access_token"));
  if (proof.secret.empty()) proof.secret = std::string(text_of(document, "accessToken"));  // az
  if (proof.secret.empty() || !std::all_of(proof.secret.begin(), proof.secret.end(), token_byte)) {
    return fail(ExitCode::kSource, "the answer holds no token");
  }
  constexpr std::int64_t kUnstated = 300;  // asked again soon rather than used too long
  constexpr std::int64_t kLongest = std::int64_t{366} * 24 * 3600;  // whatever the answer says
  if (const auto on = number_of(document, "expires_on")) {
    proof.expires = std::min<std::time_t>(*on, now + kLongest);
  } else {
    const std::int64_t life = number_of(document, "expires_in").value_or(kUnstated);
    proof.expires = now + std::clamp<std::int64_t>(life, 0, kLongest);
  }
  if (proof.expires <= now) return fail(ExitCode::kSource, "the token has run out already");
  return proof;
}

std::string azure_error_code(const std::string& json) {
  simdjson::dom::parser parser;
  element document;
  if (parser.parse(json.data(), json.size()).get(document) != simdjson::SUCCESS) return {};
  const std::string_view description = text_of(document, "error_description");
  std::string_view code = text_of(document, "error");
  if (const auto at = description.find("AADSTS"); at != std::string_view::npos) {
    code = description.substr(at);
  }
  constexpr std::size_t kMost = 40;
  std::string out;
  for (const char c : code.substr(0, kMost)) {
    const bool fine =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!fine) break;
    out += c;
  }
  return out;
}

bool is_safe_for_secrets(const std::string& url) {
  const Result<http::Url> parts = http::parse_url(url);
  return parts && (parts->scheme == "https" || parts->host == "127.0.0.1" ||
                   parts->host == "localhost" || parts->host == "[::1]");
}

}  // namespace stage_model::auth
