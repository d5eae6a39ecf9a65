#include "engine/launch/loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace stage_model::launch {

Mailbox::Mailbox() : event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Mailbox::~Mailbox() { ::close(event_fd_); }

void Mailbox::post(std::function<void()> work) {
  const MutexLock lock(mutex_);
  if (closed_) return;
  work_.push_back(std::move(work));
  const std::uint64_t one = 1;
  // A full counter already wakes the loop.
  [[maybe_unused]] const ssize_t written = write(event_fd_, &one, sizeof one);
}

void Mailbox::close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  work_.clear();
}

void Mailbox::drain() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(event_fd_, &count, sizeof count);
  for (;;) {
    std::function<void()> work;
    {
      const MutexLock lock(mutex_);
      if (work_.empty()) return;
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
  }
}

Loop::Loop() : mailbox_(std::make_shared<Mailbox>()) {}

Loop::~Loop() { mailbox_->close(); }

void Loop::watch(int fd, short events, std::function<void(short)> ready) {
  watches_[fd] = std::make_shared<Watch>(Watch{events, std::move(ready)});
}

void Loop::unwatch(int fd) { watches_.erase(fd); }

Loop::TimerId Loop::after(double seconds, std::function<void()> due) {
  const TimerId id = next_timer_++;
  const double when = now() + std::max(seconds, 0.0);
  timers_.emplace(std::make_pair(when, id), std::move(due));
  due_[id] = when;
  return id;
}

void Loop::cancel(TimerId timer) {
  const auto found = due_.find(timer);
  if (found == due_.end()) return;
  timers_.erase({found->second, timer});
  due_.erase(found);
}

void Loop::run_due_timers() {
  const double time = now();  // fixed, so that a timer that sets a timer cannot starve the sockets
  while (!stopped_ && !timers_.empty() && timers_.begin()->first.first <= time) {
    const auto first = timers_.begin();
    const std::function<void()> due = std::move(first->second);
    due_.erase(first->first.second);
    timers_.erase(first);
    due();
  }
}

int Loop::milliseconds_to_next_timer() const {
  if (timers_.empty()) return 1000;
  const double wait = (timers_.begin()->first.first - now()) * 1e3;
  return static_cast<int>(std::clamp(std::ceil(wait), 0.0, 1000.0));
}

void Loop::run() {
  while (!stopped_) {
    std::vector<pollfd> polled = {{mailbox_->event_fd_, POLLIN, 0}};
    std::vector<std::shared_ptr<Watch>> owners = {nullptr};
    for (const auto& [fd, watch] : watches_) {
      polled.push_back({fd, watch->events, 0});
      owners.push_back(watch);
    }
    const int ready = poll(polled.data(), polled.size(), milliseconds_to_next_timer());
    mailbox_->drain();
    for (std::size_t i = 1; ready > 0 && i < polled.size() && !stopped_; ++i) {
      if (polled[i].revents == 0) continue;
      // An earlier callback may have closed this descriptor, or put another in its place.
      const auto current = watches_.find(polled[i].fd);
      if (current == watches_.end() || current->second != owners[i]) continue;
      owners[i]->ready(polled[i].revents);
    }
    run_due_timers();
  }
  stopped_ = false;
}

void Loop::stop() { stopped_ = true; }

}  // namespace stage_model::launch
