// One request on the wire, once: a libcurl handle with its callbacks. Not thread-safe; belongs to
// one worker.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/http/dialect.h"
#include "engine/http/environment.h"
#include "engine/http/low_speed.h"
#include "engine/http/options.h"
#include "engine/http/request.h"
#include "engine/http/token_bucket.h"

namespace stage_model::http {

// What the answer must be.
struct Expected {
  bool ranged = false;
  std::uint64_t first = 0, length = 0, total = 0;  // ranged: bytes of the object, and its size
  std::string etag;                                // ranged: "" if unknown
  std::byte* target = nullptr;                     // ranged: `length` bytes
  std::size_t max_body = 64 << 10;                 // not ranged: of a good answer; 0: headers only
};

struct Outcome {
  Kind kind = Kind::kOk;
  std::uint64_t received = 0;  // ranged: good bytes in target, from its start
  std::string detail;          // redacted
  std::string ip;
  bool by_proxy = false;  // as far as libcurl says
  Response response;
};

void initialise_curl();  // once per process; before anything else of libcurl. Thread-safe.

class Attempt {
 public:
  // `request` is signed, and its Range and If-Match are set. `fresh`: not on an old connection.
  Attempt(const Request& request, const Expected& expected, const Options& options,
          const Environment& environment, bool fresh, TokenBucket& bucket, double now);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  CURL* handle() const { return easy_; }

  bool paused() const { return paused_; }  // by the rate limit
  void resume();                           // may receive at once

  bool stalled(double now);

  // The headers promise what was asked for; the body is on its way.
  bool promising() const { return good_range_; }

  // After libcurl said done with `code`. `transfer_stalled`: we ended it, by the low-speed rule.
  Outcome finish(CURLcode code, const Options& options, const Dialect& dialect);
  Outcome finish_stalled(const Options& options);

 private:
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  bool header_line(std::string_view line);
  bool headers_complete();
  bool check_range();
  std::size_t body(std::string_view data);
  bool refuse(Kind kind, std::string detail);  // false, for a callback to pass on
  std::string primary_ip() const;
  bool by_proxy() const;

  CURL* easy_ = nullptr;
  long proxy_port_ = 0;  // of the proxy that may be used, if it is another than the server's
  curl_slist* header_list_ = nullptr;
  char error_[CURL_ERROR_SIZE] = {};
  Expected expected_;
  TokenBucket& bucket_;
  LowSpeed low_speed_;
  Response response_;
  std::size_t header_bytes_ = 0;
  std::uint64_t received_ = 0;
  bool body_begun_ = false;
  bool good_range_ = false;  // the headers promise exactly what was asked for
  bool paused_ = false;
  Kind refused_ = Kind::kOk;
  std::string refusal_;
};

}  // namespace stage_model::http
