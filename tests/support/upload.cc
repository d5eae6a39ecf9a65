#include "tests/support/upload.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include "tests/support/child.h"

namespace stage_model::test {
namespace {

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

std::string upload(const http::Request& request, const std::string& body) {
  CURL* easy = curl_easy_init();
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  for (const auto& [name, value] : request.headers) {
    if (name == "Content-Length") continue;  // signed; libcurl sends its own
    list = curl_slist_append(list, (name + ": " + value).c_str());
  }
  const std::string url = request.url();
  Body reading = {&body};
  std::string answer;
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
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
    give_up(fmt::format("{} {}: {} HTTP {} {}", request.method, url, curl_easy_strerror(code),
                        status, answer));
  }
  return answer;
}

}  // namespace stage_model::test
