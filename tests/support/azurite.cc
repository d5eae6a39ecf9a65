#include "tests/support/azurite.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "engine/auth/azure_shared_key.h"
#include "engine/auth/crypto.h"

namespace stage_model::test {
namespace {

constexpr char kVersion[] = "2021-08-06";

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "test support: %s\n", what.c_str());
  std::abort();
}

std::vector<std::string> command() {
  const char* program = std::getenv("STAGE_AZURITE");
  if (program == nullptr) {
    give_up("STAGE_AZURITE is not set: export STAGE_AZURITE=$(tests/support/azurite.sh)");
  }
  return {program,
          "--blobHost",
          "127.0.0.1",
          "--blobPort",
          "0",
          "--disableTelemetry",
          "--inMemoryPersistence"};
}

struct Body {
  const std::string* bytes;
  std::size_t at = 0;
};

std::size_t read_body(char* target, std::size_t size, std::size_t count, void* self) {
  auto* body = static_cast<Body*>(self);
  const std::size_t length = body->bytes->copy(target, size * count, body->at);
  body->at += length;
  return length;
}

std::size_t keep(char* data, std::size_t size, std::size_t count, void* self) {
  static_cast<std::string*>(self)->append(data, size * count);
  return size * count;
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
  call("PUT", "/" + container + "/" + auth::encode_path(blob), {}, headers, bytes);
}

void Azurite::set_metadata(const std::string& container, const std::string& blob,
                           const Headers& metadata) {
  call("PUT", "/" + container + "/" + auth::encode_path(blob), {{"comp", "metadata"}}, metadata,
       "");
}

void Azurite::call(const std::string& method, const std::string& path,
                   const std::vector<std::pair<std::string, std::string>>& query,
                   const Headers& headers, const std::string& body) {
  auth::Request request;
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

  CURL* easy = curl_easy_init();
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  for (const auto& [name, value] : request.headers) {
    if (name != "Content-Length") list = curl_slist_append(list, (name + ": " + value).c_str());
  }
  const std::string url = request.url();
  Body reading = {&body};
  std::string answer;
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method.c_str());
  curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_body);
  curl_easy_setopt(easy, CURLOPT_READDATA, &reading);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT, 30L);
  const CURLcode code = curl_easy_perform(easy);
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_slist_free_all(list);
  curl_easy_cleanup(easy);
  if (code != CURLE_OK || status >= 300) {
    give_up(fmt::format("{} {}: {} HTTP {} {}", method, path, curl_easy_strerror(code), status,
                        answer));
  }
}

std::string Azurite::sas(const std::string& container, const std::string& permissions,
                         const std::string& starts, const std::string& expires) {
  const std::string text = fmt::format("{}\n{}\n{}\n/blob/{}/{}\n\n\n\n{}\nc\n\n\n\n\n\n\n",
                                       permissions, starts, expires, kAccount, container, kVersion);
  auth::Query query = {{"sv", kVersion}, {"sr", "c"}, {"sp", permissions}};
  if (!starts.empty()) query.emplace_back("st", starts);
  if (!expires.empty()) query.emplace_back("se", expires);
  query.emplace_back("sig",
                     auth::base64_encode(auth::hmac_sha256(*auth::base64_decode(key()), text)));
  return auth::format_query(query);
}

}  // namespace stage_model::test
