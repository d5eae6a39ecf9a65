#include "tests/support/azurite.h"

#include <fmt/format.h>

#include "engine/auth/azure_shared_key.h"
#include "engine/base/crypto.h"
#include "tests/support/upload.h"

namespace stage_model::test {
namespace {

constexpr char kVersion[] = "2021-08-06";

std::vector<std::string> command() {
  return {program_of("STAGE_AZURITE", "azurite.sh"),
          "--blobHost",
          "127.0.0.1",
          "--blobPort",
          "0",
          "--disableTelemetry",
          "--inMemoryPersistence"};
}

}  // namespace

const char* Azurite::key() {
  // Published by Microsoft for its emulator; the same everywhere.
  return "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
}

Azurite::Azurite() : child_(command()) {
  origin_ = child_.wait_for("successfully listens on ");
  if (origin_.empty()) give_up("Azurite does not start: $STAGE_AZURITE");
  endpoint_ = origin_ + "/" + kAccount;
}

std::map<std::string, std::string> Azurite::variables() const {
  return {{"AZURE_STORAGE_BLOB_ENDPOINT", endpoint_}, {"no_proxy", "*"}};
}

void Azurite::make_container(const std::string& name) {
  call("PUT", "/" + name, {{"restype", "container"}}, {}, "");
}

void Azurite::make_public(const std::string& name) {
  call("PUT", "/" + name, {{"restype", "container"}}, {{"x-ms-blob-public-access", "container"}},
       "");
}

void Azurite::put(const std::string& container, const std::string& blob, const std::string& bytes,
                  const Headers& more) {
  Headers headers = more;
  headers.emplace_back("x-ms-blob-type", "BlockBlob");
  call("PUT", "/" + container + "/" + http::encode_path(blob), {}, headers, bytes);
}

void Azurite::set_metadata(const std::string& container, const std::string& blob,
                           const Headers& metadata) {
  call("PUT", "/" + container + "/" + http::encode_path(blob), {{"comp", "metadata"}}, metadata,
       "");
}

void Azurite::call(const std::string& method, const std::string& path,
                   const std::vector<std::pair<std::string, std::string>>& query,
                   const Headers& headers, const std::string& body) {
  http::Request request;
  request.method = method;
  request.origin = origin_;
  request.path = std::string("/") + kAccount + path;
  request.query = query;
  request.headers = headers;
  request.headers.emplace_back("x-ms-version", kVersion);
  request.headers.emplace_back("Content-Type", "application/octet-stream");
  // Signed as empty when it is 0.
  if (!body.empty()) request.headers.emplace_back("Content-Length", std::to_string(body.size()));
  auto identity = auth::azure_shared_key(kAccount, key());
  if (!identity || !(*identity)->sign(request)) give_up("cannot sign");

  upload(request, body);
}

namespace {

// `resource`: "c" or "b", and its path.
std::string sign(const char* resource, const std::string& path, const std::string& permissions,
                 const std::string& starts, const std::string& expires) {
  const std::string text =
      fmt::format("{}\n{}\n{}\n/blob/{}/{}\n\n\n\n{}\n{}\n\n\n\n\n\n\n", permissions, starts,
                  expires, Azurite::kAccount, path, kVersion, resource);
  http::Query query = {{"sv", kVersion}, {"sr", resource}, {"sp", permissions}};
  if (!starts.empty()) query.emplace_back("st", starts);
  if (!expires.empty()) query.emplace_back("se", expires);
  query.emplace_back("sig", base64_encode(hmac_sha256(*base64_decode(Azurite::key()), text)));
  return http::format_query(query);
}

}  // namespace

std::string Azurite::sas(const std::string& container, const std::string& permissions,
                         const std::string& starts, const std::string& expires) {
  return sign("c", container, permissions, starts, expires);
}

std::string Azurite::sas_of_blob(const std::string& container, const std::string& blob,
                                 const std::string& expires) {
  return sign("b", container + "/" + blob, "r", "", expires);
}

}  // namespace stage_model::test
