#include "engine/http/client.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <deque>
#include <future>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "engine/http/attempt.h"
#include "engine/http/clock.h"
#include "engine/http/explain.h"
#include "engine/http/places.h"
#include "engine/http/redact.h"
#include "engine/http/throttle.h"

namespace stage_model::http {
namespace {

// An attempt that brought this much is not counted against max_retries: the number of such
// attempts is bounded by the length of the range.
constexpr std::uint64_t kProgress = 64 << 10;
// Until anything has ever worked, the URL is the likelier culprit: say so soon.
constexpr unsigned kRetriesBeforeFirstSuccess = 4;
constexpr unsigned kDnsRetriesBeforeFirstSuccess = 2;
constexpr double kStallCheck = 0.25;  // seconds between looks at the transfers' speeds
constexpr double kIdleWait = 1.0;
constexpr double kProofWait = 0.05;  // seconds between looks at a proof that is on its way

// A request with its history. Only the loop's thread touches it once it is started.
struct Job {
  auth::Request request;
  std::string what;
  Expected expected;  // of the whole request
  std::function<void(Result<Response>)> done;
  std::shared_ptr<const std::atomic<bool>> unwanted;  // may be null

  std::uint64_t received = 0;  // ranged: good bytes so far
  bool whole = false;          // cannot be resumed
  unsigned attempts = 0;
  unsigned failures = 0;  // that count against max_retries
  double not_before = 0;
  double throttled_since = 0;  // 0: the last attempt was not throttled
  bool fresh = false;
  std::unique_ptr<Attempt> attempt;

  unsigned generation = 0;  // of the proof that the last attempt was signed with
  bool renewed = false;     // a refusal was met with another proof once
  Route route;
};

std::string host_of(const std::string& origin) {
  const std::size_t at = origin.find("://");
  return at == std::string::npos ? origin : origin.substr(at + 3);
}

}  // namespace

class Client::Loop {
 public:
  Loop(const Options& options, Environment environment, auth::IdentityPtr identity,
       const Dialect& dialect)
      : options_(options),
        environment_(std::move(environment)),
        identity_(std::move(identity)),
        dialect_(dialect),
        started_(now()),
        throttle_(options.concurrency, options.backoff_first_s, options.backoff_max_s,
                  std::random_device()()),
        bucket_(options.max_bandwidth, started_),
        places_(dialect.redirects()) {
    initialise_curl();
    multi_ = curl_multi_init();
    // All of our connections stay open between requests.
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(options.concurrency) + 4);
    thread_ = std::thread([this] { run(); });
  }

  ~Loop() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    curl_multi_wakeup(multi_);
    thread_.join();
    curl_multi_cleanup(multi_);
  }

  void submit(std::unique_ptr<Job> job) {
    job->route.home = place_of(job->request);
    {
      const std::lock_guard lock(mutex_);
      incoming_.push_back(std::move(job));
    }
    curl_multi_wakeup(multi_);
  }

  bool same_etags() const { return dialect_.same_etags(); }

  Counters counters() const {
    Counters out;
    out.requests = requests_;
    out.bytes = bytes_;
    out.retries_throttle = retries_throttle_;
    out.retries_server = retries_server_;
    out.retries_reset = retries_reset_;
    out.retries_stall = retries_stall_;
    out.retries_short = retries_short_;
    return out;
  }

 private:
  using JobPtr = std::unique_ptr<Job>;

  void run() {
    // Signals are for the main thread; SIGPIPE is for nobody (OpenSSL writes without MSG_NOSIGNAL).
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);

    while (take_incoming()) {
      if (options_.deadline_s > 0 && now() - started_ >= options_.deadline_s) {
        end_all("not done within the deadline");
      }
      start_waiting();
      int running = 0;
      curl_multi_perform(multi_, &running);
      for (const JobPtr& job : active_) {
        if (job->attempt->promising()) places_.found(job->route, now());
      }
      reap();
      check_speeds();
      resume_paused();
      curl_multi_poll(multi_, nullptr, 0, milliseconds_to_wait(), nullptr);
    }
    // A callback may have submitted more.
    while (end_all("stopped")) {
    }
  }

  bool take_incoming() {
    const std::lock_guard lock(mutex_);
    for (JobPtr& job : incoming_) waiting_.push_back(std::move(job));
    incoming_.clear();
    return !stop_;
  }

  // False if there was nothing to end.
  bool end_all(const std::string& reason) {
    std::vector<JobPtr> jobs;
    for (JobPtr& job : active_) {
      curl_multi_remove_handle(multi_, job->attempt->handle());
      jobs.push_back(std::move(job));
    }
    active_.clear();
    for (JobPtr& job : waiting_) jobs.push_back(std::move(job));
    waiting_.clear();
    {
      const std::lock_guard lock(mutex_);
      for (JobPtr& job : incoming_) jobs.push_back(std::move(job));
      incoming_.clear();
    }
    for (JobPtr& job : jobs) {
      Outcome outcome;
      outcome.kind = Kind::kStopped;
      outcome.detail = reason;
      fail_job(std::move(job), std::move(outcome));
    }
    return !jobs.empty();
  }

  void start_waiting() {
    const double time = now();
    if (time < throttle_.not_before()) return;
    while (active_.size() < throttle_.limit()) {
      const auto next =
          std::find_if(waiting_.begin(), waiting_.end(), [this, time](const JobPtr& job) {
            return job->not_before <= time && !places_.being_found(job->route);
          });
      if (next == waiting_.end()) return;
      JobPtr job = std::move(*next);
      waiting_.erase(next);
      begin(std::move(job), time);
    }
  }

  void begin(JobPtr job, double time) {
    if (job->unwanted && *job->unwanted) {
      Outcome outcome;
      outcome.kind = Kind::kStopped;
      outcome.detail = "not wanted any more";
      fail_job(std::move(job), std::move(outcome));
      return;
    }
    places_.send(job->route, time);
    // Only home sees our proof.
    const bool proven = job->route.at_home();
    if (proven && !identity_->ready()) {
      places_.leave(job->route);
      job->not_before = time + kProofWait;
      waiting_.push_front(std::move(job));
      return;
    }
    auth::Request request = job->request;
    if (job->route.place) {
      request.origin = job->route.place->origin;
      request.path = job->route.place->target;
      request.query.clear();
    }
    Expected expected = job->expected;
    if (expected.ranged) {
      expected.first += job->received;
      expected.length -= job->received;
      expected.target += job->received;
      request.headers.emplace_back("Range", fmt::format("bytes={}-{}", expected.first,
                                                        expected.first + expected.length - 1));
      if (auto only = condition(expected.etag)) request.headers.push_back(std::move(*only));
    }
    ++job->attempts;
    job->generation = identity_->generation();
    if (Status status = proven ? identity_->sign(request) : Status(); !status) {
      Outcome outcome;
      outcome.kind = Kind::kIdentity;
      outcome.detail = status.error().message;
      fail_job(std::move(job), std::move(outcome));
      return;
    }
    ++requests_;
    job->attempt = std::make_unique<Attempt>(request, expected, options_, environment_, job->fresh,
                                             bucket_, time);
    curl_multi_add_handle(multi_, job->attempt->handle());
    active_.push_back(std::move(job));
  }

  void reap() {
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* easy = message->easy_handle;
      const CURLcode code = message->data.result;
      JobPtr job = take_active(easy);
      finish(std::move(job),
             [&](Attempt& attempt) { return attempt.finish(code, options_, dialect_); });
    }
  }

  void check_speeds() {
    const double time = now();
    if (time < next_speed_check_) return;
    next_speed_check_ = time + kStallCheck;
    std::vector<CURL*> slow;
    for (const JobPtr& job : active_) {
      if (job->attempt->stalled(time)) slow.push_back(job->attempt->handle());
    }
    for (CURL* easy : slow) {
      finish(take_active(easy), [&](Attempt& attempt) { return attempt.finish_stalled(options_); });
    }
  }

  void resume_paused() {
    // By index: resuming may run callbacks of that transfer, never of the list.
    for (const JobPtr& job : active_) {
      if (!job->attempt->paused()) continue;
      if (!bucket_.open(now())) return;
      job->attempt->resume();
    }
  }

  int milliseconds_to_wait() {
    const double time = now();
    double wait = active_.empty() ? kIdleWait : std::max(0.0, next_speed_check_ - time);
    if (active_.size() < throttle_.limit()) {
      for (const JobPtr& job : waiting_) {
        if (places_.being_found(job->route)) continue;
        wait = std::min(wait, std::max(job->not_before, throttle_.not_before()) - time);
      }
    }
    if (std::any_of(active_.begin(), active_.end(),
                    [](const JobPtr& job) { return job->attempt->paused(); })) {
      wait = std::min(wait, bucket_.wait(time));
    }
    if (options_.deadline_s > 0 && (!active_.empty() || !waiting_.empty())) {
      wait = std::min(wait, started_ + options_.deadline_s - time);
    }
    return static_cast<int>(std::ceil(std::max(0.0, wait) * 1000));
  }

  JobPtr take_active(CURL* easy) {
    curl_multi_remove_handle(multi_, easy);
    const auto found = std::find_if(active_.begin(), active_.end(), [easy](const JobPtr& job) {
      return job->attempt->handle() == easy;
    });
    JobPtr job = std::move(*found);
    active_.erase(found);
    return job;
  }

  template <class Ending>
  void finish(JobPtr job, Ending ending) {
    Outcome outcome = ending(*job->attempt);
    job->attempt.reset();
    bytes_ += outcome.received;
    job->received += outcome.received;
    if (outcome.received > 0) job->renewed = false;
    if (job->whole && outcome.kind != Kind::kOk) job->received = 0;
    if (outcome.kind == Kind::kOk) {
      throttle_.succeeded();
      ever_succeeded_ = true;
      places_.found(job->route, now());
      job->done(std::move(outcome.response));
      return;
    }
    // An error answer too shows that name and network are right.
    if (outcome.response.status != 0 && outcome.kind != Kind::kProxy) ever_succeeded_ = true;
    if (outcome.kind == Kind::kRefused && go_elsewhere(*job, outcome)) {
      waiting_.push_front(std::move(job));
      return;
    }
    places_.leave(job->route);
    if (!may_retry(*job, outcome)) {
      fail_job(std::move(job), std::move(outcome));
      return;
    }
    // What is left of the connection is not trusted with the rest.
    job->fresh = outcome.kind != Kind::kThrottled;
    if (outcome.kind != Kind::kThrottled) {
      job->not_before = now() + throttle_.backoff(std::max(1U, job->failures));
    }
    waiting_.push_front(std::move(job));
  }

  // A refusal that is none: a redirect, a signed URL or a token that has run out. Else `outcome`
  // says what is wrong.
  bool go_elsewhere(Job& job, Outcome& outcome) {
    const int status = outcome.response.status;
    const bool home = job.route.at_home();
    if (dialect_.redirects() && is_redirect(status)) {
      Status moved = places_.redirect(job.route, header(outcome.response.headers, "location"));
      if (moved) return true;
      outcome.kind = Kind::kRedirect;
      outcome.detail = moved.error().message;
      return false;
    }
    if (home && !job.renewed && dialect_.proof_refused(outcome.response) &&
        identity_->renew(job.generation)) {
      job.renewed = true;
      return true;
    }
    if (status < 400 || !job.route.place || options_.max_retries == 0) return false;
    if (!places_.lost(job.route)) return false;
    job.not_before = now() + throttle_.backoff(job.route.lost);
    ++retries_server_;
    return true;
  }

  // Counts the retry, too.
  bool may_retry(Job& job, const Outcome& outcome) {
    const bool progress = outcome.received >= kProgress && !job.whole;
    const double time = now();
    std::atomic<std::uint64_t>* counter = nullptr;
    switch (outcome.kind) {
      case Kind::kThrottled: {
        const auto asked =
            parse_retry_after(header(outcome.response.headers, "retry-after"), std::time(nullptr));
        throttle_.throttled(time, asked);
        if (job.throttled_since == 0) job.throttled_since = time;
        // By time, not by number: a store that throttles a fleet refuses most requests for a while.
        if (options_.max_retries == 0 || time - job.throttled_since > options_.throttle_budget_s) {
          return false;
        }
        ++retries_throttle_;
        return true;
      }
      case Kind::kServer:
        counter = &retries_server_;
        break;
      case Kind::kProxy:
        if (proxy_refuses(outcome.response.status)) return false;
        counter = &retries_reset_;
        break;
      case Kind::kReset:
      case Kind::kDns:
        counter = &retries_reset_;
        break;
      case Kind::kStall:
        counter = &retries_stall_;
        break;
      case Kind::kShort:
        counter = &retries_short_;
        break;
      default:
        return false;
    }
    job.throttled_since = 0;
    if (!progress) ++job.failures;
    unsigned most = options_.max_retries;
    if (!ever_succeeded_) {
      most = std::min(most, outcome.kind == Kind::kDns ? kDnsRetriesBeforeFirstSuccess
                                                       : kRetriesBeforeFirstSuccess);
    }
    if (job.failures > most || options_.max_retries == 0) return false;
    ++*counter;
    return true;
  }

  void fail_job(JobPtr job, Outcome outcome) {
    places_.leave(job->route);
    Failure failure;
    failure.kind = outcome.kind;
    failure.what = job->what;
    const std::string origin = job->route.now().origin;
    failure.host = host_of(origin);
    failure.ip = std::move(outcome.ip);
    const std::string scheme = origin.substr(0, origin.find(':'));
    if (outcome.by_proxy) failure.proxy = host_of_proxy(environment_.proxy_for(scheme));
    failure.detail = std::move(outcome.detail);
    failure.attempts = job->attempts;
    failure.response = std::move(outcome.response);
    auto done = std::move(job->done);
    job.reset();  // the handle goes before the caller hears of it
    done(tl::unexpected<Error>(explain(failure, dialect_)));
  }

  const Options options_;
  const Environment environment_;
  const auth::IdentityPtr identity_;
  const Dialect& dialect_;
  const double started_;
  CURLM* multi_ = nullptr;

  std::mutex mutex_;
  bool stop_ = false;             // under mutex_
  std::vector<JobPtr> incoming_;  // under mutex_

  // The rest is the thread's own.
  std::deque<JobPtr> waiting_;
  std::vector<JobPtr> active_;
  Throttle throttle_;
  TokenBucket bucket_;
  Places places_;
  double next_speed_check_ = 0;
  bool ever_succeeded_ = false;

  std::atomic<std::uint64_t> requests_{0}, bytes_{0}, retries_throttle_{0}, retries_server_{0},
      retries_reset_{0}, retries_stall_{0}, retries_short_{0};
  std::thread thread_;
};

Client::Client(const Options& options, const Environment& environment, auth::IdentityPtr identity,
               const Dialect& dialect)
    : loop_(std::make_unique<Loop>(options, environment, std::move(identity), dialect)) {}

Client::~Client() = default;

void Client::start(RangeGet get) {
  auto job = std::make_unique<Job>();
  job->request = std::move(get.request);
  job->what = std::move(get.what);
  job->expected.ranged = true;
  job->expected.first = get.offset;
  job->expected.length = get.length;
  job->expected.total = get.total;
  if (loop_->same_etags()) job->expected.etag = std::move(get.etag);
  job->expected.target = get.target;
  job->whole = get.whole;
  job->unwanted = std::move(get.unwanted);
  job->done = [done = std::move(get.done)](Result<Response> result) {
    done(result ? Status() : Status(tl::unexpected<Error>(std::move(result.error()))));
  };
  loop_->submit(std::move(job));
}

Result<Response> Client::perform(auth::Request request, const std::string& what,
                                 std::size_t max_body) {
  // Shared: the promise is still in use inside set_value when the future is ready already.
  auto promise = std::make_shared<std::promise<Result<Response>>>();
  auto answer = promise->get_future();
  auto job = std::make_unique<Job>();
  job->request = std::move(request);
  job->what = what;
  job->expected.max_body = max_body;
  job->done = [promise](Result<Response> result) { promise->set_value(std::move(result)); };
  loop_->submit(std::move(job));
  return answer.get();
}

Counters Client::counters() const { return loop_->counters(); }

}  // namespace stage_model::http
