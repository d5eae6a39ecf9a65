// What one kind of store means by its answers. Each source brings its own.
#pragma once

#include <optional>
#include <string>

#include "engine/http/headers.h"
#include "stage_model/result.h"

namespace stage_model::http {

struct Response {
  int status = 0;
  Headers headers;
  std::string body;  // of ranged GETs: only an error's
};

// How one attempt ended.
enum class Kind {
  kOk,
  kThrottled,  // the store asks for less: retried within a time budget
  kServer,     // other 5xx, answers that make no sense
  kReset,      // connection lost or refused, protocol broken
  kDns,
  kProxy,
  kTls,       // certificate or handshake: final
  kStall,     // too slow, or no answer
  kShort,     // body shorter than promised
  kRefused,   // any other status: final
  kIgnored,   // not the range that was asked for: final
  kChanged,   // another version of the object than was listed: final
  kTooBig,    // body above the caller's limit: final
  kIdentity,  // could not sign: final; `detail` is the whole message
  kRedirect,  // to where we do not go: final; `detail` says why
  kStopped,
};

// Why a request failed for good.
struct Failure {
  Kind kind = Kind::kStopped;
  std::string what;    // "blob llama/x.bin", "the list of container c"
  std::string host;    // host[:port]
  std::string ip;      // connected to; may be empty
  std::string proxy;   // host of the proxy in use, if it is known that one is
  std::string detail;  // redacted, from libcurl or the checks here
  unsigned attempts = 0;
  Response response;  // of the last attempt; status 0 if there was none
};

// Thread-safe.
class Dialect {
 public:
  virtual ~Dialect() = default;
  // Is this error answer (status >= 300) throttling, a server's trouble, or final?
  virtual Kind classify(const Response& response) const;
  // Does this answer say that the identity's proof has run out? Then another is asked for, once.
  virtual bool proof_refused(const Response& response) const { return response.status == 401; }
  // May its answers send us elsewhere? Then 301, 302, 303, 307 and 308 are followed a few times;
  // the proof goes to the original scheme, host and port only, never from https to http. What a
  // redirect led to is remembered per URL, and asked for again where that place refuses (signed
  // URLs expire).
  virtual bool redirects() const { return false; }
  // Are listed ETags those of GETs? Then ranges carry If-Match and answers are compared.
  virtual bool same_etags() const { return true; }
  // A message for what this store's users can act on; nothing: the general one (explain.h).
  virtual std::optional<Error> explain(const Failure&) const { return std::nullopt; }
};

}  // namespace stage_model::http
