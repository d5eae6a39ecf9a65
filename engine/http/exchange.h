// One small request without the client's machinery: how an identity talks to who gives out tokens.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "engine/http/environment.h"
#include "engine/http/request.h"
#include "stage_model/result.h"

namespace stage_model::http {

struct ExchangeRequest {
  Request request;     // signed; method GET, POST or PUT
  std::string body;    // of a POST or PUT; secret
  bool local = false;  // to the machine's own metadata service: never by a proxy
  double timeout_s = 30;
  double connect_timeout_s = 10;
};

struct ExchangeAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // at most 1 MiB; secret
};

// One attempt, on the caller's thread; blocks for `timeout_s` at most. Thread-safe. Any status is
// an answer. Errors: kTransfer if there was none, kSource if a proxy refuses and would again;
// messages are redacted. Tests put in their own.
using Exchange = std::function<Result<ExchangeAnswer>(const ExchangeRequest&)>;

Exchange make_exchange(Environment environment);  // over libcurl

// Up to `attempts` times, with pauses that double from `first_pause_s` and vary, so that a fleet
// does not ask in step; a Retry-After of up to 10 s is honoured. Again after: no answer, 429, 5xx.
// The last result. Thread-safe.
Result<ExchangeAnswer> exchange_with_retries(const Exchange& exchange,
                                             const ExchangeRequest& request, unsigned attempts,
                                             double first_pause_s = 0.25);

}  // namespace stage_model::http
