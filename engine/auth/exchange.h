// How an identity talks to who gives out tokens: one HTTP request, without the stores' machinery.
// engine/http/exchange.h implements it; tests put in their own.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "engine/auth/request.h"
#include "stage_model/result.h"

namespace stage_model::auth {

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

// One attempt; blocks for `timeout_s` at most. Thread-safe. Any status is an answer. Errors:
// kTransfer if there was none, kSource if a proxy refuses and would again; messages are redacted.
using Exchange = std::function<Result<ExchangeAnswer>(const ExchangeRequest&)>;

}  // namespace stage_model::auth
