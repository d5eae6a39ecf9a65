#include "engine/http/worker.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <utility>

#include "engine/base/clock.h"
#include "engine/http/headers.h"

namespace stage_model::http {
namespace {

constexpr double kStallCheck = 0.25;  // seconds between looks at the transfers' speeds
constexpr double kIdleWait = 1.0;
constexpr double kProofWait = 0.05;  // seconds between looks at a proof that is on its way
constexpr char kLate[] = "not done within the deadline";

Outcome stopped(std::string reason) {
  Outcome outcome;
  outcome.kind = Kind::kStopped;
  outcome.detail = std::move(reason);
  return outcome;
}

}  // namespace

Worker::Worker(Shared& shared, Dispatcher& dispatcher) noexcept
    : shared_(shared), dispatcher_(dispatcher) {
  initialise_curl();
  multi_ = curl_multi_init();
  // All of our connections stay open between requests.
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS,
                    static_cast<long>(shared.options.concurrency) + 4);
  number_ = dispatcher.enlist([multi = multi_] { curl_multi_wakeup(multi); });
  thread_ = std::thread([this] { run(); });
}

Worker::~Worker() {
  thread_.join();
  curl_multi_cleanup(multi_);
}

void Worker::run() {
  // Signals are for the main thread; SIGPIPE is for nobody (OpenSSL writes without MSG_NOSIGNAL).
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);

  while (!dispatcher_.stopped()) {
    if (now() >= shared_.deadline) {
      dispatcher_.end_waiting(kLate);
      end_all(kLate);
    }
    for (JobPtr& job : dispatcher_.take(number_)) begin(std::move(job));
    int running = 0;
    curl_multi_perform(multi_, &running);
    look_at_answers();
    reap();
    check_speeds();
    resume_paused();
    curl_multi_poll(multi_, nullptr, 0, milliseconds_to_wait(), nullptr);
  }
  end_all("stopped");
}

void Worker::begin(JobPtr job) {
  const double time = now();
  if (time >= shared_.deadline) {
    dispatcher_.ended(std::move(job), stopped(kLate));
  } else if (job->unwanted && *job->unwanted) {
    dispatcher_.ended(std::move(job), stopped("not wanted any more"));
  } else if (job->route.at_home() && !shared_.signer->ready()) {
    dispatcher_.put_back(std::move(job), time + kProofWait);
  } else {
    attempt(std::move(job), time);
  }
}

void Worker::attempt(JobPtr job, double time) {
  Request request = job->request;
  if (job->route.redirected) {
    request.origin = job->route.redirected->origin;
    request.path = job->route.redirected->target;
    request.query.clear();
  }
  Expected expected = job->expected;
  if (expected.ranged) {
    expected.first += job->received;
    expected.length -= job->received;
    expected.target += job->received;
    request.headers.emplace_back(
        "Range", fmt::format("bytes={}-{}", expected.first, expected.first + expected.length - 1));
    if (auto only = condition(expected.etag)) request.headers.push_back(std::move(*only));
  }
  ++job->attempts;
  job->generation = shared_.signer->generation();
  // Only home sees our proof.
  if (Status status = job->route.at_home() ? shared_.signer->sign(request) : Status(); !status) {
    Outcome outcome;
    outcome.kind = Kind::kIdentity;
    outcome.detail = status.error().message;
    dispatcher_.ended(std::move(job), std::move(outcome));
    return;
  }
  dispatcher_.begun();
  auto attempt = std::make_unique<Attempt>(request, expected, shared_.options, shared_.environment,
                                           job->fresh, shared_.bucket, time);
  curl_multi_add_handle(multi_, attempt->handle());
  active_.push_back({std::move(job), std::move(attempt)});
}

// Others may wait for what a good answer says about the way.
void Worker::look_at_answers() {
  for (const Active& active : active_) {
    if (active.job->route.unsettled() && active.attempt->promising()) {
      dispatcher_.found(*active.job);
    }
  }
}

void Worker::reap() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    Active active = take_out(message->easy_handle);
    Outcome outcome = active.attempt->finish(code, shared_.options, shared_.dialect);
    finish(std::move(active), std::move(outcome));
  }
}

void Worker::check_speeds() {
  const double time = now();
  if (time < next_speed_check_) return;
  next_speed_check_ = time + kStallCheck;
  std::vector<CURL*> slow;
  for (const Active& active : active_) {
    if (active.attempt->stalled(time)) slow.push_back(active.attempt->handle());
  }
  for (CURL* easy : slow) {
    Active active = take_out(easy);
    Outcome outcome = active.attempt->finish_stalled(shared_.options);
    finish(std::move(active), std::move(outcome));
  }
}

void Worker::resume_paused() {
  for (const Active& active : active_) {
    if (!active.attempt->paused()) continue;
    if (!shared_.bucket.open(now())) return;
    active.attempt->resume();
  }
}

void Worker::end_all(const std::string& reason) {
  while (!active_.empty()) {
    finish(take_out(active_.back().attempt->handle()), stopped(reason));
  }
}

int Worker::milliseconds_to_wait() const {
  const double time = now();
  double wait = std::min(kIdleWait, dispatcher_.wait());
  if (!active_.empty()) {
    wait = std::min({wait, next_speed_check_ - time, shared_.deadline - time});
  }
  if (std::any_of(active_.begin(), active_.end(),
                  [](const Active& active) { return active.attempt->paused(); })) {
    wait = std::min(wait, shared_.bucket.wait(time));
  }
  return static_cast<int>(std::ceil(std::max(0.0, wait) * 1000));
}

Worker::Active Worker::take_out(CURL* easy) {
  curl_multi_remove_handle(multi_, easy);
  const auto found = std::find_if(active_.begin(), active_.end(), [easy](const Active& active) {
    return active.attempt->handle() == easy;
  });
  Active active = std::move(*found);
  active_.erase(found);
  return active;
}

void Worker::finish(Active active, Outcome outcome) {
  active.attempt.reset();  // the handle goes before the caller hears of it
  dispatcher_.ended(std::move(active.job), std::move(outcome));
}

}  // namespace stage_model::http
