// What becomes of a request whose attempt has ended: done, once more (when, from where, on what
// connection), or failed. Counts. Not thread-safe.
#pragma once

#include "engine/http/attempt.h"
#include "engine/http/job.h"
#include "engine/http/options.h"
#include "engine/http/redirect_cache.h"
#include "engine/http/shared.h"
#include "engine/http/throttle.h"

namespace stage_model::http {

class Retries {
 public:
  // All outlive it.
  Retries(const Shared& shared, Throttle& throttle, RedirectCache& redirects);

  // True: `job` is prepared for another attempt. False: it is over, as `outcome` says.
  bool again(Job& job, Outcome& outcome);

  const Counters& counters() const { return counters_; }  // all but requests and bytes

 private:
  bool go_elsewhere(Job& job, Outcome& outcome);
  bool may_retry(Job& job, const Outcome& outcome);
  bool throttled(Job& job, const Outcome& outcome);
  bool failed(Job& job, const Outcome& outcome, std::uint64_t& counter);

  const Shared& shared_;
  Throttle& throttle_;
  RedirectCache& redirects_;
  bool ever_succeeded_ = false;
  Counters counters_;
};

}  // namespace stage_model::http
