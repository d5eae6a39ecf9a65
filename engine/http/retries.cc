#include "engine/http/retries.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "engine/base/clock.h"
#include "engine/http/headers.h"
#include "engine/http/redirect.h"

namespace stage_model::http {
namespace {

// An attempt that brought this much is not counted against max_retries: the number of such
// attempts is bounded by the length of the range.
constexpr std::uint64_t kProgress = 64 << 10;
// Until anything has ever worked, the URL is the likelier culprit: say so soon.
constexpr unsigned kRetriesBeforeFirstSuccess = 4;
constexpr unsigned kDnsRetriesBeforeFirstSuccess = 2;

// Every byte has come, and only the end of the body (a chunked one's last line) has not: there is
// nothing left to ask for. Where the server knows no ranges, that end alone says how long it is.
bool complete(const Job& job, Kind kind) {
  const bool cut_off = kind == Kind::kShort || kind == Kind::kReset || kind == Kind::kStall;
  return cut_off && job.expected.ranged && !job.whole && job.received == job.expected.length;
}

}  // namespace

Retries::Retries(const Shared& shared, Throttle& throttle, RedirectCache& redirects)
    : shared_(shared), throttle_(throttle), redirects_(redirects) {}

bool Retries::again(Job& job, Outcome& outcome) {
  job.received += outcome.received;
  if (outcome.received > 0) job.renewed = false;
  if (complete(job, outcome.kind)) outcome.kind = Kind::kOk;
  if (outcome.kind == Kind::kOk) {
    throttle_.succeeded();
    ever_succeeded_ = true;
    redirects_.found(job.route, now());
    return false;
  }
  if (job.whole) job.received = 0;
  // An error answer too shows that name and network are right.
  if (outcome.response.status != 0 && outcome.kind != Kind::kProxy) ever_succeeded_ = true;
  if (outcome.kind == Kind::kRefused && go_elsewhere(job, outcome)) return true;
  redirects_.leave(job.route);
  if (!may_retry(job, outcome)) return false;
  // What is left of the connection is not trusted with the rest.
  job.fresh = outcome.kind != Kind::kThrottled;
  if (outcome.kind != Kind::kThrottled) {
    job.not_before = now() + throttle_.backoff(std::max(1U, job.failures));
  }
  return true;
}

// A refusal that is none: a redirect, a signed URL or a token that has run out. Else `outcome`
// says what is wrong.
bool Retries::go_elsewhere(Job& job, Outcome& outcome) {
  const int status = outcome.response.status;
  if (shared_.dialect.redirects() && is_redirect(status)) {
    Status moved = redirects_.redirect(job.route, header(outcome.response.headers, "location"));
    if (moved) return true;
    outcome.kind = Kind::kRedirect;
    outcome.detail = moved.error().message;
    return false;
  }
  if (job.route.at_home() && !job.renewed && shared_.dialect.proof_refused(outcome.response) &&
      shared_.signer->renew(job.generation)) {
    job.renewed = true;
    return true;
  }
  if (status < 400 || !job.route.redirected || shared_.options.max_retries == 0) return false;
  if (!redirects_.lost(job.route)) return false;
  job.not_before = now() + throttle_.backoff(job.route.lost);
  ++counters_.retries_server;
  return true;
}

bool Retries::may_retry(Job& job, const Outcome& outcome) {
  switch (outcome.kind) {
    case Kind::kThrottled:
      return throttled(job, outcome);
    case Kind::kServer:
      return failed(job, outcome, counters_.retries_server);
    case Kind::kProxy:
      return !proxy_refuses(outcome.response.status) &&
             failed(job, outcome, counters_.retries_reset);
    case Kind::kReset:
    case Kind::kDns:
      return failed(job, outcome, counters_.retries_reset);
    case Kind::kStall:
      return failed(job, outcome, counters_.retries_stall);
    case Kind::kShort:
      return failed(job, outcome, counters_.retries_short);
    default:
      return false;
  }
}

bool Retries::throttled(Job& job, const Outcome& outcome) {
  const double time = now();
  throttle_.throttled(
      time, parse_retry_after(header(outcome.response.headers, "retry-after"), std::time(nullptr)));
  if (job.throttled_since == 0) job.throttled_since = time;
  // By time, not by number: a store that throttles a fleet refuses most requests for a while.
  if (shared_.options.max_retries == 0 ||
      time - job.throttled_since > shared_.options.throttle_budget_s) {
    return false;
  }
  ++counters_.retries_throttle;
  return true;
}

bool Retries::failed(Job& job, const Outcome& outcome, std::uint64_t& counter) {
  job.throttled_since = 0;
  if (outcome.received < kProgress || job.whole) ++job.failures;
  unsigned most = shared_.options.max_retries;
  if (!ever_succeeded_) {
    most = std::min(most, outcome.kind == Kind::kDns ? kDnsRetriesBeforeFirstSuccess
                                                     : kRetriesBeforeFirstSuccess);
  }
  if (job.failures > most || shared_.options.max_retries == 0) return false;
  ++counter;
  return true;
}

}  // namespace stage_model::http
