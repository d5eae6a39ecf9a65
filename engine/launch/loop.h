// One poll loop for everything the launcher waits for: sockets, pipes, the engine, timers, and work
// that other threads hand over. Not thread-safe, except for Mailbox.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace stage_model::launch {

// The one door into the loop for other threads (PMIx's, a resolver's). Outlives the loop: what is
// posted after the loop has gone is dropped.
class Mailbox {
 public:
  Mailbox();
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  void post(std::function<void()> work);  // thread-safe
  void close();                           // thread-safe; drops everything from now on

 private:
  friend class Loop;
  void drain();

  Mutex mutex_;
  std::deque<std::function<void()>> work_ STAGE_GUARDED_BY(mutex_);
  bool closed_ STAGE_GUARDED_BY(mutex_) = false;
  int event_fd_ = -1;
};

class Loop {
 public:
  using TimerId = std::uint64_t;

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Calls ready(revents) while any of `events` holds. One watch per descriptor; the descriptor
  // stays the caller's, who must unwatch before closing it. Watching again changes the events.
  void watch(int fd, short events, std::function<void(short)> ready);
  void unwatch(int fd);

  TimerId after(double seconds, std::function<void()> due);
  void cancel(TimerId timer);  // an unknown one is fine

  std::shared_ptr<Mailbox> mailbox() const { return mailbox_; }

  void run();  // until stop(), also one that came before; then it may be run again
  void stop();

 private:
  struct Watch {
    short events;
    std::function<void(short)> ready;
  };
  void run_due_timers();
  int milliseconds_to_next_timer() const;

  std::map<int, std::shared_ptr<Watch>> watches_;
  std::map<std::pair<double, TimerId>, std::function<void()>> timers_;
  std::map<TimerId, double> due_;
  TimerId next_timer_ = 1;
  std::shared_ptr<Mailbox> mailbox_;
  bool stopped_ = false;
};

}  // namespace stage_model::launch
