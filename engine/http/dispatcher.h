// Which thread of a client begins which request when, and what becomes of it: together they keep to
// one throttle, and wait for the redirect that one of them is finding out. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/http/attempt.h"
#include "engine/http/job.h"
#include "engine/http/options.h"
#include "engine/http/redirect_cache.h"
#include "engine/http/retries.h"
#include "engine/http/shared.h"
#include "engine/http/throttle.h"

namespace stage_model::http {

class Dispatcher {
 public:
  explicit Dispatcher(const Shared& shared);  // which outlives it

  // Another worker; returns its number. `wake` makes it call take() soon: must not block, nor call
  // the dispatcher; not called after stop().
  std::size_t enlist(std::function<void()> wake);

  void add(JobPtr job);

  // What the worker is to begin now. Its jobs come back by put_back() or ended().
  std::vector<JobPtr> take(std::size_t worker);
  // Another attempt was begun: for the counters.
  void begun() { ++requests_; }
  // It could not be begun yet.
  void put_back(JobPtr job, double not_before);
  // Its attempt is answered as it should be; the rest of it is on its way.
  void found(Job& job);
  // It is tried again, or its `done` is called: with no lock held, before this returns.
  void ended(JobPtr job, Outcome outcome);

  // Seconds until take() may have something of which nobody is woken.
  double wait() const;

  // From now on nothing is given out.
  void stop();
  bool stopped() const;
  // Fails what no worker has. False if there was nothing.
  bool end_waiting(const std::string& reason);

  Counters counters() const;

 private:
  struct Inbox {
    std::function<void()> wake;
    std::vector<JobPtr> jobs;
    std::size_t load = 0;  // jobs that the worker has, those in here included
  };

  void dispatch() STAGE_REQUIRES(mutex_);  // after all that may have made a job ready
  std::deque<JobPtr>::iterator next_job(double time) STAGE_REQUIRES(mutex_);  // that may begin
  void release(const Job& job) STAGE_REQUIRES(mutex_);
  bool try_again(JobPtr& job, Outcome& outcome);
  void fail(const Job& job, Outcome outcome) const;

  const Shared& shared_;
  std::atomic<std::uint64_t> requests_{0};
  mutable Mutex mutex_;
  bool stopped_ STAGE_GUARDED_BY(mutex_) = false;
  std::deque<JobPtr> waiting_ STAGE_GUARDED_BY(mutex_);
  std::vector<Inbox> inboxes_ STAGE_GUARDED_BY(mutex_);
  std::size_t running_ STAGE_GUARDED_BY(mutex_) = 0;  // jobs that workers have
  Throttle throttle_ STAGE_GUARDED_BY(mutex_);
  RedirectCache redirects_ STAGE_GUARDED_BY(mutex_);
  Retries retries_ STAGE_GUARDED_BY(mutex_);
};

}  // namespace stage_model::http
