// Where a model lives. One file per store implements this; register.cc names them all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/variables.h"
#include "engine/plan/types.h"
#include "stage_model/result.h"

namespace stage_model::source {

// Credentials by variable name (AZURE_STORAGE_KEY, …): from the inherited descriptor, else from
// the environment. Secrets: never logged, never copied into messages.
using stage_model::Variables;

struct TransferOptions {
  unsigned concurrency = 16;            // GETs in flight on this rank
  unsigned http_threads = 1;            // that receive and decrypt on this rank
  std::uint64_t block_size = 8u << 20;  // bytes of one GET
  unsigned max_retries = 8;             // per GET, without counting ones that made progress
  double low_speed_window_s = 20;       // a GET slower than low_speed_bytes over it is restarted
  std::uint64_t low_speed_bytes = 64 << 10;
  double connect_timeout_s = 20;
  double deadline_s = 0;     // whole run, from start; 0: none
  double max_bandwidth = 0;  // bytes/s for this rank; 0: no limit
};

// What happened on the wire; summed over ranks in the report. Monotonic.
struct Counters {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;             // body bytes received, retries included
  std::uint64_t retries_throttle = 0;  // 429, 503
  std::uint64_t retries_server = 0;    // other 5xx
  std::uint64_t retries_reset = 0;     // connection lost, TLS, DNS
  std::uint64_t retries_stall = 0;     // low speed or no answer
  std::uint64_t retries_short = 0;     // body shorter than promised
};

// One extent to bring into memory.
struct Fetch {
  const plan::Object* object = nullptr;  // outlives the fetch
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::byte* target = nullptr;  // length bytes, outlives the fetch
  // Called exactly once, on a thread of the fetcher's, after the last byte is in place or the
  // fetch failed for good. Must not block.
  std::function<void(Status)> done;
};

// Turns fetches into GETs: cut into blocks, in parallel, retried, resumed, verified to be exactly
// the range asked for. Thread-safe. Destruction stops everything: outstanding fetches end with
// kStopped, and no callback runs after the destructor returns.
class Fetcher {
 public:
  virtual ~Fetcher() = default;
  virtual void start(Fetch fetch) = 0;  // never blocks
  virtual Counters counters() const = 0;
};

class Source {
 public:
  virtual ~Source() = default;

  // Rank 0 only. Blocking; every wait has a limit. Pages, markers and the trailing-slash rule are
  // the source's; filters and name checks are plan's. Errors: kSource, kTransfer, kStopped.
  virtual Result<plan::Listing> list() = 0;

  // Before list(): what an earlier list() found, as this node kept it. A source whose objects never
  // change under that name (a commit) may return it again instead of asking.
  virtual void recall(const plan::Listing& kept) { (void)kept; }

  // The other ranks: take over what list() found out on rank 0 (Listing::resolved).
  virtual Status adopt(const std::string& resolved) = 0;

  // After list(), on rank 0: a proof for the other ranks (a token), so that a job asks for one.
  // SECRET bytes: they travel beside the listing, never in it, and are never logged or stored.
  // "" where each rank can sign by itself. The other ranks accept() it after adopt().
  virtual std::string handover() const { return {}; }
  virtual Status accept(const std::string& handover) {
    (void)handover;
    return {};
  }

  // Which identity would be used and why not the others, a line each, for --whoami. Blocking: asks
  // for a token where one is needed. No secrets. Errors: kSource.
  virtual Result<std::string> whoami() { return identity(); }

  // Can this rank read the objects? True for stores on the network; file:/// looks.
  virtual bool reachable() const { return true; }

  virtual Result<std::unique_ptr<Fetcher>> fetcher(const TransferOptions& options) = 0;

  // The identity in use, for messages: "shared key of account X", "SAS (expires …)". No secrets.
  virtual std::string identity() const { return {}; }
};

// Chooses by scheme. `url` may carry a signature (engine alone): it is moved out of every message.
// Errors: kUsage for a bad URL or unknown scheme, kSource for an identity that cannot work.
Result<std::unique_ptr<Source>> open_source(std::string_view url, const Variables& variables,
                                            const TransferOptions& options);

}  // namespace stage_model::source
