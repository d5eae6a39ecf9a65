#include "engine/auth/aws_sigv4.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/crypto.h"
#include "engine/base/text.h"

namespace stage_model::auth {
namespace {

// SHA-256 of no bytes.
constexpr char kEmptyPayload[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned length = 0;
  EVP_Digest(text.data(), text.size(), out.data(), &length, EVP_sha256(), nullptr);
  return to_hex({reinterpret_cast<const char*>(out.data()), length});
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

// Without spaces at the ends, and one where there are several.
std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\t') {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

// As libcurl sends it: without the port that the scheme implies.
std::string host_header(std::string_view origin) {
  const std::size_t at = origin.find("://");
  if (at == std::string_view::npos) return std::string(origin);
  const std::string_view scheme = origin.substr(0, at);
  std::string_view host = origin.substr(at + 3);
  const std::string_view port = scheme == "https" ? ":443" : ":80";
  if (host.ends_with(port)) host.remove_suffix(port.size());
  return std::string(host);
}

std::string canonical_query(const http::Query& query) {
  std::vector<std::pair<std::string, std::string>> items;
  items.reserve(query.size());
  for (const auto& [name, value] : query)
    items.emplace_back(http::encode(name), http::encode(value));
  // By encoded name and value: "a-b" and "a=" are in another order once they are one text.
  std::sort(items.begin(), items.end());
  std::string out;
  for (const auto& [name, value] : items) {
    if (!out.empty()) out += '&';
    out.append(name).append("=").append(value);
  }
  return out;
}

std::string utc(std::time_t when) {
  std::tm parts{};
  gmtime_r(&when, &parts);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace

std::string aws_canonical_request(const http::Request& request, std::string& signed_headers) {
  std::map<std::string, std::string> headers = {{"host", host_header(request.origin)}};
  for (const auto& [name, value] : request.headers) {
    auto [at, added] = headers.try_emplace(lowered(name), squeezed(value));
    if (!added && at->first != "host") at->second += "," + squeezed(value);
  }
  std::string out = request.method + "\n" + (request.path.empty() ? "/" : request.path) + "\n" +
                    canonical_query(request.query) + "\n";
  signed_headers.clear();
  for (const auto& [name, value] : headers) {
    out.append(name).append(":").append(value).append("\n");
    signed_headers += (signed_headers.empty() ? "" : ";") + name;
  }
  return out.append("\n").append(signed_headers).append("\n").append(kEmptyPayload);
}

void aws_sign(http::Request& request, const AwsKeys& keys, const AwsScope& scope, std::time_t now) {
  const std::string time = utc(now);
  const std::string date = time.substr(0, 8);
  request.headers.emplace_back("X-Amz-Date", time);
  if (scope.service == "s3") request.headers.emplace_back("X-Amz-Content-Sha256", kEmptyPayload);
  if (!keys.session.empty()) request.headers.emplace_back("X-Amz-Security-Token", keys.session);

  std::string names;
  const std::string canonical = aws_canonical_request(request, names);
  const std::string place = date + "/" + scope.region + "/" + scope.service + "/aws4_request";
  const std::string text =
      "AWS4-HMAC-SHA256\n" + time + "\n" + place + "\n" + sha256_hex(canonical);
  std::string key = hmac_sha256("AWS4" + keys.secret, date);
  for (const std::string& part : {scope.region, scope.service, std::string("aws4_request")}) {
    key = hmac_sha256(key, part);
  }
  request.headers.emplace_back(
      "Authorization",
      fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}", keys.id,
                  place, names, to_hex(hmac_sha256(key, text))));
}

}  // namespace stage_model::auth
