// All requests of one rank to one store, on one thread or several. Connections are reused; whatever
// goes wrong is retried by kind (dialect.h), resumed at the byte where it broke on a fresh
// connection, and paced with everything else that this client does.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/http/dialect.h"
#include "engine/http/environment.h"
#include "engine/http/options.h"
#include "engine/http/request.h"
#include "stage_model/result.h"

namespace stage_model::http {

class Dispatcher;
struct Shared;
class Worker;

// One ranged GET into the caller's memory.
struct RangeGet {
  Request request;                       // without Range and If-Match
  std::string what;                      // for messages: "blob llama/x.bin"
  std::uint64_t offset = 0, length = 0;  // length > 0
  std::uint64_t total = 0;               // size of the object as listed
  std::string etag;                      // as listed; "" if there is none
  std::byte* target = nullptr;           // length bytes, valid until done is called
  bool whole = false;                    // the server knows no ranges: what is broken begins anew
  // Set from outside when the result has become pointless: no further attempt is begun, done is
  // called with kStopped. May be null.
  std::shared_ptr<const std::atomic<bool>> unwanted;
  // Once, on one of the client's threads (at its destruction: on any); must not block. Only with
  // exactly the bytes asked for is it ok.
  std::function<void(Status)> done;
};

// Thread-safe. Destruction ends what is outstanding with kStopped; no callback comes after it.
class Client {
 public:
  // `dialect` outlives the client. `signer` signs right before every attempt.
  Client(const Options& options, const Environment& environment, SignerPtr signer,
         const Dialect& dialect);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void start(RangeGet get);  // never blocks

  // A small request: waits for its answer (2xx), with the same retries. `max_body` in bytes; 0: the
  // headers are enough, and a body is not waited for.
  // Not from a callback. Errors: as the dialect explains them.
  Result<Response> perform(Request request, const std::string& what, std::size_t max_body);

  Counters counters() const;

 private:
  std::unique_ptr<Shared> shared_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace stage_model::http
