#include "engine/http/dispatcher.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "engine/base/clock.h"
#include "engine/http/explain.h"

namespace stage_model::http {
namespace {

std::string host_of(const std::string& origin) {
  const std::size_t at = origin.find("://");
  return at == std::string::npos ? origin : origin.substr(at + 3);
}

}  // namespace

Dispatcher::Dispatcher(const Shared& shared)
    : shared_(shared),
      throttle_(shared.options.concurrency, shared.options.backoff_first_s,
                shared.options.backoff_max_s, std::random_device()()),
      redirects_(shared.dialect.redirects()),
      retries_(shared, throttle_, redirects_) {}

std::size_t Dispatcher::enlist(std::function<void()> wake) {
  const MutexLock lock(mutex_);
  inboxes_.emplace_back().wake = std::move(wake);
  return inboxes_.size() - 1;
}

void Dispatcher::add(JobPtr job) {
  const MutexLock lock(mutex_);
  waiting_.push_back(std::move(job));
  dispatch();
  // Somebody has to look at the clock for it; where all places are taken, who frees one does.
  if (!stopped_ && !waiting_.empty() && running_ < throttle_.limit()) inboxes_.front().wake();
}

std::deque<JobPtr>::iterator Dispatcher::next_job(double time) {
  auto at = waiting_.begin();
  while (at != waiting_.end() &&
         ((*at)->not_before > time || redirects_.being_found((*at)->route))) {
    ++at;
  }
  return at;
}

// Whoever has least to do gets the next one: the requests in flight, mostly fewer than there may
// be, are spread over the threads. A worker that frees a place takes its own next job so.
void Dispatcher::dispatch() {
  const double time = now();
  if (stopped_ || time < throttle_.not_before()) return;
  while (running_ < throttle_.limit()) {
    const auto next = next_job(time);
    if (next == waiting_.end()) return;
    const auto inbox =
        std::min_element(inboxes_.begin(), inboxes_.end(),
                         [](const Inbox& a, const Inbox& b) { return a.load < b.load; });
    JobPtr job = std::move(*next);
    waiting_.erase(next);
    job->worker = static_cast<std::size_t>(inbox - inboxes_.begin());
    redirects_.send(job->route, time);
    inbox->jobs.push_back(std::move(job));
    ++inbox->load;
    ++running_;
    inbox->wake();
  }
}

std::vector<JobPtr> Dispatcher::take(std::size_t worker) {
  const MutexLock lock(mutex_);
  dispatch();
  return std::exchange(inboxes_[worker].jobs, {});
}

void Dispatcher::release(const Job& job) {
  --inboxes_[job.worker].load;
  --running_;
}

void Dispatcher::put_back(JobPtr job, double not_before) {
  const MutexLock lock(mutex_);
  release(*job);
  redirects_.leave(job->route);
  job->not_before = not_before;
  waiting_.push_front(std::move(job));
  dispatch();
}

void Dispatcher::found(Job& job) {
  const MutexLock lock(mutex_);
  redirects_.found(job.route, now());
  dispatch();
}

bool Dispatcher::try_again(JobPtr& job, Outcome& outcome) {
  const MutexLock lock(mutex_);
  release(*job);
  const bool again = retries_.again(*job, outcome);
  if (again) waiting_.push_front(std::move(job));
  dispatch();
  return again;
}

void Dispatcher::ended(JobPtr job, Outcome outcome) {
  if (try_again(job, outcome)) return;
  if (outcome.kind == Kind::kOk) {
    job->done(std::move(outcome.response));
  } else {
    fail(*job, std::move(outcome));
  }
}

void Dispatcher::fail(const Job& job, Outcome outcome) const {
  Failure failure;
  failure.kind = outcome.kind;
  failure.what = job.what;
  const std::string origin = job.route.now().origin;
  failure.host = host_of(origin);
  failure.ip = std::move(outcome.ip);
  const std::string scheme = origin.substr(0, origin.find(':'));
  if (outcome.by_proxy) failure.proxy = host_of_proxy(shared_.environment.proxy_for(scheme));
  failure.detail = std::move(outcome.detail);
  failure.attempts = job.attempts;
  failure.response = std::move(outcome.response);
  job.done(tl::unexpected<Error>(explain(failure, shared_.dialect)));
}

double Dispatcher::wait() const {
  const MutexLock lock(mutex_);
  double until = std::numeric_limits<double>::infinity();
  if (!waiting_.empty()) until = shared_.deadline;
  if (running_ < throttle_.limit()) {
    for (const JobPtr& job : waiting_) {
      if (redirects_.being_found(job->route)) continue;
      until = std::min(until, std::max(job->not_before, throttle_.not_before()));
    }
  }
  return std::max(0.0, until - now());
}

void Dispatcher::stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  for (Inbox& inbox : inboxes_) {
    for (JobPtr& job : inbox.jobs) {
      release(*job);
      waiting_.push_back(std::move(job));
    }
    inbox.jobs.clear();
    inbox.wake();
  }
}

bool Dispatcher::stopped() const {
  const MutexLock lock(mutex_);
  return stopped_;
}

bool Dispatcher::end_waiting(const std::string& reason) {
  std::deque<JobPtr> jobs;
  {
    const MutexLock lock(mutex_);
    jobs.swap(waiting_);
    for (const JobPtr& job : jobs) redirects_.leave(job->route);
  }
  for (const JobPtr& job : jobs) {
    Outcome outcome;
    outcome.kind = Kind::kStopped;
    outcome.detail = reason;
    fail(*job, std::move(outcome));
  }
  return !jobs.empty();
}

Counters Dispatcher::counters() const {
  const MutexLock lock(mutex_);
  Counters out = retries_.counters();
  out.requests = requests_;
  out.bytes = shared_.bucket.total();
  return out;
}

}  // namespace stage_model::http
