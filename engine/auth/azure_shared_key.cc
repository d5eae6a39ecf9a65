#include "engine/auth/azure_shared_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "engine/base/crypto.h"
#include "engine/http/date.h"

namespace stage_model::auth {
namespace {

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

class AzureSharedKey final : public Identity {
 public:
  AzureSharedKey(std::string account, std::string key)
      : account_(std::move(account)), key_(std::move(key)) {}

  Status sign(http::Request& request) const override {
    request.headers.emplace_back("x-ms-date", http::format_http_date(std::time(nullptr)));
    const std::string text = azure_string_to_sign(request, account_);
    request.headers.emplace_back(
        "Authorization",
        fmt::format("SharedKey {}:{}", account_, base64_encode(hmac_sha256(key_, text))));
    return {};
  }

  Status check(std::time_t) const override { return {}; }
  std::string describe() const override { return "shared key of account " + account_; }

 private:
  std::string account_;
  std::string key_;  // raw bytes
};

}  // namespace

std::string azure_string_to_sign(const http::Request& request, std::string_view account) {
  std::map<std::string, std::string> headers;
  for (const auto& [name, value] : request.headers) headers[lowered(name)] = value;

  std::string out = request.method;
  out += '\n';
  // The standard headers, in Azure's order; absent ones are empty lines. x-ms-date is always
  // there, so Date is empty.
  static constexpr std::array<std::string_view, 11> kStandard = {"content-encoding",
                                                                 "content-language",
                                                                 "content-length",
                                                                 "content-md5",
                                                                 "content-type",
                                                                 "date",
                                                                 "if-modified-since",
                                                                 "if-match",
                                                                 "if-none-match",
                                                                 "if-unmodified-since",
                                                                 "range"};
  for (const std::string_view name : kStandard) {
    const auto found = headers.find(std::string(name));
    if (found != headers.end()) out += found->second;
    out += '\n';
  }
  for (const auto& [name, value] : headers) {
    if (name.starts_with("x-ms-")) out += fmt::format("{}:{}\n", name, value);
  }
  // The path as it is sent. An emulator's path begins with the account itself, which then stands
  // here twice; that is what it expects.
  out += "/" + std::string(account) + request.path;

  std::map<std::string, std::vector<std::string>> query;
  for (const auto& [name, value] : request.query) query[lowered(name)].push_back(value);
  for (auto& [name, values] : query) {
    std::sort(values.begin(), values.end());
    out += "\n" + name + ":" + fmt::format("{}", fmt::join(values, ","));
  }
  return out;
}

Result<IdentityPtr> azure_shared_key(std::string account, std::string_view key) {
  auto raw = base64_decode(key);
  if (!raw || raw->empty()) {
    return fail(ExitCode::kSource,
                fmt::format("the key of account {} is not base64: copy it again from the portal "
                            "(AZURE_STORAGE_KEY or AccountKey=)",
                            account));
  }
  return std::make_shared<AzureSharedKey>(std::move(account), std::move(*raw));
}

}  // namespace stage_model::auth
