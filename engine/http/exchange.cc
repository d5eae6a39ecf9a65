#include "engine/http/exchange.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "engine/http/attempt.h"
#include "engine/http/headers.h"
#include "engine/http/redact.h"

namespace stage_model::http {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;  // of headers and body

struct Receiver {
  ExchangeAnswer answer;
  std::size_t bytes = 0;
};

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) {
  auto& to = *static_cast<Receiver*>(self);
  const std::string_view line(data, size * count);
  to.bytes += line.size();
  if (to.bytes > kMaxBytes) return 0;
  if (line.starts_with("HTTP/")) to.answer.headers.clear();
  if (auto item = parse_header_line(line))
    to.answer.headers.insert_or_assign(item->first, item->second);
  return line.size();
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto& to = *static_cast<Receiver*>(self);
  to.bytes += size * count;
  if (to.bytes > kMaxBytes) return 0;
  to.answer.body.append(data, size * count);
  return size * count;
}

Result<ExchangeAnswer> exchange(const Environment& environment, const ExchangeRequest& asked) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy(curl_easy_init(),
                                                                 &curl_easy_cleanup);
  const auto set = [&easy](auto option, auto value) {
    curl_easy_setopt(easy.get(), option, value);
  };
  const std::string url = asked.request.url();
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_FOLLOWLOCATION, 0L);  // what is sent here is for one host only
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  if (asked.request.method == "POST") {
    set(CURLOPT_POST, 1L);
  } else if (asked.request.method != "GET") {
    set(CURLOPT_CUSTOMREQUEST, asked.request.method.c_str());
  }
  if (asked.request.method != "GET") {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(asked.body.size()));
    set(CURLOPT_POSTFIELDS, asked.body.c_str());
  }
  curl_slist* headers = nullptr;
  for (const auto& [name, value] : asked.request.headers) {
    headers = curl_slist_append(headers, fmt::format("{}: {}", name, value).c_str());
  }
  headers = curl_slist_append(headers, "User-Agent: stage-model");
  headers = curl_slist_append(headers, "Expect:");
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> free_headers(
      headers, &curl_slist_free_all);
  set(CURLOPT_HTTPHEADER, headers);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(asked.timeout_s * 1000));
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(asked.connect_timeout_s * 1000));
  if (!environment.ca_file.empty()) {
    set(CURLOPT_CAINFO, environment.ca_file.c_str());
    set(CURLOPT_PROXY_CAINFO, environment.ca_file.c_str());
  }
  const std::string scheme = asked.request.origin.substr(0, asked.request.origin.find(':'));
  // A metadata service answers for the machine that asks: a proxy's would be the wrong machine's.
  const std::string proxy = asked.local ? "" : environment.proxy_for(scheme);
  const std::string no_proxy = asked.local ? "*" : environment.no_proxy;
  set(CURLOPT_PROXY, proxy.c_str());
  set(CURLOPT_NOPROXY, no_proxy.c_str());
  char error[CURL_ERROR_SIZE] = {};
  set(CURLOPT_ERRORBUFFER, error);
  Receiver receiver;
  set(CURLOPT_HEADERFUNCTION, &on_header);
  set(CURLOPT_HEADERDATA, &receiver);
  set(CURLOPT_WRITEFUNCTION, &on_body);
  set(CURLOPT_WRITEDATA, &receiver);

  const CURLcode code = curl_easy_perform(easy.get());
  long tunnel_status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_HTTP_CONNECTCODE, &tunnel_status);
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status == 407) tunnel_status = status;  // only proxies say so
  if (tunnel_status >= 300) {
    return fail(proxy_refuses(tunnel_status) ? ExitCode::kSource : ExitCode::kTransfer,
                fmt::format("the proxy {} does not let us through: {}; check https_proxy and "
                            "no_proxy",
                            host_of_proxy(proxy), proxy_answer(tunnel_status)));
  }
  if (code != CURLE_OK) {
    return fail(ExitCode::kTransfer, redact(error[0] != '\0' ? error : curl_easy_strerror(code)));
  }
  receiver.answer.status = static_cast<int>(status);
  return std::move(receiver.answer);
}

constexpr double kMaxPause = 10;

bool not_now(const Result<ExchangeAnswer>& answer) {
  if (!answer) return answer.error().code == ExitCode::kTransfer;
  return answer->status == 429 || answer->status >= 500;
}

double asked_pause(const Result<ExchangeAnswer>& answer) {
  if (!answer) return 0;
  const auto header = answer->headers.find("retry-after");
  if (header == answer->headers.end()) return 0;
  unsigned seconds = 0;
  const std::string& text = header->second;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return std::min<double>(seconds, kMaxPause);
}

}  // namespace

Exchange make_exchange(Environment environment) {
  initialise_curl();
  return [environment = std::move(environment)](const ExchangeRequest& request) {
    return exchange(environment, request);
  };
}

Result<ExchangeAnswer> exchange_with_retries(const Exchange& exchange,
                                             const ExchangeRequest& request, unsigned attempts,
                                             double first_pause_s) {
  thread_local std::minstd_rand random{std::random_device()()};
  double pause = first_pause_s;
  for (unsigned attempt = 1;; ++attempt) {
    Result<ExchangeAnswer> answer = exchange(request);
    if (!not_now(answer) || attempt >= attempts) return answer;
    const double spread = std::uniform_real_distribution<>(0.5, 1.5)(random);
    const double wait = std::max(asked_pause(answer), std::min(pause * spread, kMaxPause));
    std::this_thread::sleep_for(std::chrono::duration<double>(wait));
    pause *= 2;
  }
}

}  // namespace stage_model::http
