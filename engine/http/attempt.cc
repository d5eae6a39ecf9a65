#include "engine/http/attempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "engine/base/clock.h"
#include "engine/http/redact.h"

namespace stage_model::http {
namespace {

constexpr std::size_t kMaxHeaderBytes = 64 << 10;
constexpr std::size_t kMaxErrorBody = 64 << 10;
constexpr long kReceiveBuffer = 512 << 10;  // libcurl's most: fewer calls per byte

// Stores differ in whether they quote the same ETag.
std::string_view unquoted(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag.remove_prefix(1);
    etag.remove_suffix(1);
  }
  return etag;
}

template <class T>
void set(CURL* easy, CURLoption option, T value) {
  // Only fails for options that this libcurl lacks or when memory is gone.
  curl_easy_setopt(easy, option, value);
}

constexpr int kWantsProxyLogin = 407;  // only proxies say so

Outcome by_the_proxy(Outcome out, long status) {
  out.kind = Kind::kProxy;
  out.by_proxy = true;
  out.response.status = static_cast<int>(status);
  out.detail = proxy_answer(status);
  return out;
}

long port_of(const std::string& origin) {
  const std::size_t host = origin.find("://");
  const std::size_t colon = origin.rfind(':');
  if (host == std::string::npos || colon == host || origin.find(']', colon) != std::string::npos) {
    return origin.starts_with("https") ? 443 : 80;
  }
  return static_cast<long>(parse_number(std::string_view(origin).substr(colon + 1)).value_or(0));
}

bool answered(int status) { return status >= 200; }
bool good(int status) { return status >= 200 && status < 300; }

}  // namespace

void initialise_curl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

Attempt::Attempt(const Request& request, const Expected& expected, const Options& options,
                 const Environment& environment, bool fresh, TokenBucket& bucket, double now)
    : easy_(curl_easy_init()),
      expected_(expected),
      bucket_(bucket),
      low_speed_(options.low_speed_window_s, options.low_speed_bytes, now) {
  const std::string url = request.url();
  set(easy_, CURLOPT_URL, url.c_str());
  set(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  // Object names hold "/../" and "/./"; libcurl would ask for another object.
  set(easy_, CURLOPT_PATH_AS_IS, 1L);
  if (request.method == "HEAD") {
    set(easy_, CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET") {
    set(easy_, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  // HTTP/1.1 by choice: with HTTP/2 all requests share one TCP connection, hence one congestion
  // window and one core's TLS, and a stream that ends early looks like a complete body.
  set(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  // The client follows them where the store has any: libcurl would take our headers along.
  set(easy_, CURLOPT_FOLLOWLOCATION, 0L);
  // The stored bytes, whatever their Content-Encoding: sizes and hashes are of those.
  for (const auto& [name, value] : request.headers) {
    header_list_ = curl_slist_append(header_list_, fmt::format("{}: {}", name, value).c_str());
  }
  const bool own_encoding =
      std::any_of(request.headers.begin(), request.headers.end(),
                  [](const auto& item) { return item.first == "Accept-Encoding"; });
  if (!own_encoding) header_list_ = curl_slist_append(header_list_, "Accept-Encoding: identity");
  header_list_ = curl_slist_append(header_list_, "User-Agent: stage-model");
  set(easy_, CURLOPT_HTTPHEADER, header_list_);

  set(easy_, CURLOPT_NOSIGNAL, 1L);  // signals and threads do not mix
  set(easy_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout_s * 1000));
  set(easy_, CURLOPT_BUFFERSIZE, kReceiveBuffer);
  set(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
  set(easy_, CURLOPT_FRESH_CONNECT, fresh ? 1L : 0L);
  set(easy_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(easy_, CURLOPT_ERRORBUFFER, error_);

  if (!environment.ca_file.empty()) {
    set(easy_, CURLOPT_CAINFO, environment.ca_file.c_str());
    set(easy_, CURLOPT_PROXY_CAINFO, environment.ca_file.c_str());  // of a proxy by https://
  }
  // Both always set, so that libcurl does not read the environment by rules of its own.
  const std::string scheme = request.origin.substr(0, request.origin.find(':'));
  const std::string proxy = environment.proxy_for(scheme);
  if (!proxy.empty()) {
    proxy_port_ = port_of("http://" + host_of_proxy(proxy));
    if (proxy_port_ == port_of(request.origin)) proxy_port_ = 0;
  }
  set(easy_, CURLOPT_PROXY, proxy.c_str());
  set(easy_, CURLOPT_NOPROXY, environment.no_proxy.c_str());

  set(easy_, CURLOPT_HEADERFUNCTION, &Attempt::on_header);
  set(easy_, CURLOPT_HEADERDATA, this);
  set(easy_, CURLOPT_WRITEFUNCTION, &Attempt::on_body);
  set(easy_, CURLOPT_WRITEDATA, this);
}

Attempt::~Attempt() {
  curl_easy_cleanup(easy_);
  curl_slist_free_all(header_list_);
}

void Attempt::resume() {
  paused_ = false;
  curl_easy_pause(easy_, CURLPAUSE_CONT);
}

bool Attempt::stalled(double now) {
  curl_off_t connected = 0;
  curl_easy_getinfo(easy_, CURLINFO_PRETRANSFER_TIME_T, &connected);
  // Before that the connect timeout watches; while paused it is our own doing.
  const std::uint64_t total = received_ + response_.body.size();
  if (connected == 0 || paused_) {
    low_speed_.restart(now, total);
    return false;
  }
  return low_speed_.stalled(now, total);
}

bool Attempt::refuse(Kind kind, std::string detail) {
  refused_ = kind;
  refusal_ = std::move(detail);
  return false;
}

std::size_t Attempt::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  const std::string_view line(data, size * count);
  return static_cast<Attempt*>(self)->header_line(line) ? line.size() : 0;
}

std::size_t Attempt::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  return static_cast<Attempt*>(self)->body(std::string_view(data, size * count));
}

bool Attempt::header_line(std::string_view line) {
  if (body_begun_) return true;  // trailers of a chunked body say nothing that we need
  if (line.starts_with("HTTP/")) {
    response_.headers.clear();
    long status = 0;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    response_.status = static_cast<int>(status);
    return true;
  }
  if (line == "\r\n" || line == "\n") return headers_complete();
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxHeaderBytes) return refuse(Kind::kTooBig, "more than 64 KiB of headers");
  if (auto item = parse_header_line(line)) {
    response_.headers.insert_or_assign(std::move(item->first), std::move(item->second));
  }
  return true;
}

// Everything is checked here, before the first byte reaches the caller's buffer.
bool Attempt::headers_complete() {
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  response_.status = static_cast<int>(status);
  if (!answered(response_.status)) return true;  // 100 Continue and the like
  body_begun_ = true;
  // A chunked body that ends too early ends "well" for libcurl, which would keep the connection.
  if (!header(response_.headers, "transfer-encoding").empty()) {
    set(easy_, CURLOPT_FORBID_REUSE, 1L);
  }
  if (expected_.ranged && good(response_.status)) good_range_ = check_range();
  return !expected_.ranged || !good(response_.status) || good_range_;
}

bool Attempt::check_range() {
  const std::uint64_t first = expected_.first;
  const std::uint64_t last = first + expected_.length - 1;
  const std::string_view range_text = header(response_.headers, "content-range");
  const std::string_view length_text = header(response_.headers, "content-length");

  if (response_.status == 206) {
    const auto range = parse_content_range(range_text);
    if (!range) {
      return refuse(Kind::kIgnored, fmt::format("206 with the Content-Range '{}'",
                                                redact(range_text.substr(0, 100))));
    }
    if (range->total != expected_.total) {
      if (range->total && range->first == first) {
        return refuse(Kind::kChanged, fmt::format("it has {} bytes, the list said {}",
                                                  *range->total, expected_.total));
      }
      return refuse(Kind::kIgnored, "206 with another total size");
    }
    if (range->first != first || range->last != last) {
      return refuse(Kind::kIgnored, fmt::format("bytes {}-{} instead of {}-{}", range->first,
                                                range->last, first, last));
    }
  } else if (response_.status != 200 || first != 0 || expected_.length != expected_.total) {
    // A 200 is the whole object from its start: only right when just that was asked for.
    return refuse(Kind::kIgnored, fmt::format("HTTP {} for bytes {}-{} of {}", response_.status,
                                              first, last, expected_.total));
  }
  if (!length_text.empty()) {
    const auto length = parse_number(length_text);
    if (!length) return refuse(Kind::kServer, "an unreadable Content-Length");
    if (response_.status == 200 && *length != expected_.total) {
      return refuse(Kind::kChanged,
                    fmt::format("it has {} bytes, the list said {}", *length, expected_.total));
    }
    if (*length > expected_.length) {
      return refuse(Kind::kIgnored,
                    fmt::format("a body of {} bytes for a range of {}", *length, expected_.length));
    }
    if (*length < expected_.length) {
      return refuse(Kind::kShort,
                    fmt::format("a body of {} bytes for a range of {}", *length, expected_.length));
    }
  }
  if (expected_.etag.starts_with(kHashTag)) return true;  // the bytes are held against it later
  if (is_time(expected_.etag)) {
    const std::string_view modified = header(response_.headers, "last-modified");
    if (!modified.empty() && modified != std::string_view(expected_.etag).substr(kTimeTag.size())) {
      return refuse(Kind::kChanged, "its Last-Modified is not the listed one");
    }
    return true;
  }
  const std::string_view etag = header(response_.headers, "etag");
  if (!etag.empty() && !expected_.etag.empty() && unquoted(etag) != unquoted(expected_.etag)) {
    return refuse(Kind::kChanged, "its ETag is not the listed one");
  }
  return true;
}

std::size_t Attempt::body(std::string_view data) {
  if (good_range_) {
    const double time = now();
    if (!bucket_.open(time)) {
      paused_ = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    if (data.size() > expected_.length - received_) {
      received_ = 0;  // who cannot count is not believed at all
      refuse(Kind::kServer, "more bytes than the range has");
      return 0;
    }
    std::memcpy(expected_.target + received_, data.data(), data.size());
    received_ += data.size();
    bucket_.take(data.size());
    return data.size();
  }
  const bool keep = good(response_.status);
  if (keep && expected_.max_body == 0) return 0;  // the headers were all that was wanted
  const std::size_t most = keep ? expected_.max_body : kMaxErrorBody;
  if (data.size() > most - response_.body.size()) {
    if (keep) {
      refuse(Kind::kTooBig, fmt::format("a body of more than {} bytes", most));
      return 0;
    }
    data = data.substr(0, most - response_.body.size());
    response_.body += data;
    refuse(Kind::kRefused, "");  // enough to know the error; finish() looks at the status
    return 0;
  }
  response_.body += data;
  return data.size();
}

std::string Attempt::primary_ip() const {
  const char* ip = nullptr;
  curl_easy_getinfo(easy_, CURLINFO_PRIMARY_IP, &ip);
  return ip == nullptr ? "" : ip;
}

// libcurl before 8.7 tells only which port it connected to.
bool Attempt::by_proxy() const {
  long tunnel_status = 0;
  curl_easy_getinfo(easy_, CURLINFO_HTTP_CONNECTCODE, &tunnel_status);
#if LIBCURL_VERSION_NUM >= 0x080700
  long used = 0;
  curl_easy_getinfo(easy_, CURLINFO_USED_PROXY, &used);
  if (used != 0) return true;
#endif
  long port = 0;
  curl_easy_getinfo(easy_, CURLINFO_PRIMARY_PORT, &port);
  return tunnel_status != 0 || (port != 0 && port == proxy_port_);
}

Outcome Attempt::finish_stalled(const Options& options) {
  Outcome out;
  out.kind = Kind::kStall;
  out.received = received_;
  out.ip = primary_ip();
  out.by_proxy = by_proxy();
  out.detail = response_.status == 0
                   ? fmt::format("no answer within {} s", options.low_speed_window_s)
                   : fmt::format("fewer than {} bytes in {} s", options.low_speed_bytes,
                                 options.low_speed_window_s);
  return out;
}

Outcome Attempt::finish(CURLcode code, const Options& options, const Dialect& dialect) {
  Outcome out;
  out.received = received_;
  out.ip = primary_ip();
  out.by_proxy = by_proxy();
  out.detail = redact(error_[0] != '\0' ? error_ : curl_easy_strerror(code));

  long connect_status = 0;
  curl_easy_getinfo(easy_, CURLINFO_HTTP_CONNECTCODE, &connect_status);

  if (answered(response_.status) && !good(response_.status)) {
    // An error answer: what it says counts more than how its body ended.
    out.response = std::move(response_);
    if (out.response.status == kWantsProxyLogin)
      return by_the_proxy(std::move(out), kWantsProxyLogin);
    out.kind = dialect.classify(out.response);
    out.detail = fmt::format("HTTP {}", out.response.status);
    return out;
  }
  if (refused_ != Kind::kOk) {
    out.kind = refused_;
    out.detail = refusal_;
    out.response = std::move(response_);
    return out;
  }
  if (code != CURLE_OK && connect_status >= 300) {
    return by_the_proxy(std::move(out), connect_status);
  }
  if (code == CURLE_WRITE_ERROR && !expected_.ranged && expected_.max_body == 0 && body_begun_) {
    out.response = std::move(response_);
    return out;
  }
  switch (code) {
    case CURLE_OK:
      break;
    case CURLE_COULDNT_RESOLVE_HOST:
      out.kind = Kind::kDns;
      return out;
    case CURLE_COULDNT_RESOLVE_PROXY:
      out.kind = Kind::kProxy;
      out.by_proxy = true;
      out.detail = "its name cannot be resolved";
      return out;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ENGINE_INITFAILED:
      out.kind = Kind::kTls;
      return out;
    case CURLE_OPERATION_TIMEDOUT:
      out.kind = Kind::kStall;
      out.detail = fmt::format("no connection within {} s", options.connect_timeout_s);
      return out;
    case CURLE_PARTIAL_FILE:
      out.kind = Kind::kShort;
      return out;
    default:
      out.kind = Kind::kReset;
      return out;
  }
  if (expected_.ranged && received_ != expected_.length) {
    out.kind = Kind::kShort;
    out.detail = fmt::format("{} of {} bytes, then a clean end", received_, expected_.length);
    return out;
  }
  out.response = std::move(response_);
  return out;
}

}  // namespace stage_model::http
