// A thread of a client with its connections: begins what the dispatcher gives it, receives and
// decrypts. Threads share no connection (libcurl cannot), and so no name lookup and TLS session
// either: connections are few and stay open.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/http/attempt.h"
#include "engine/http/dispatcher.h"
#include "engine/http/job.h"
#include "engine/http/shared.h"

namespace stage_model::http {

class Worker {
 public:
  // Both outlive it. A thread that cannot be started ends the process.
  Worker(Shared& shared, Dispatcher& dispatcher) noexcept;
  ~Worker();  // after Dispatcher::stop()
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

 private:
  struct Active {
    JobPtr job;
    std::unique_ptr<Attempt> attempt;
  };

  void run();
  void begin(JobPtr job);
  void attempt(JobPtr job, double time);
  void look_at_answers();
  void reap();
  void check_speeds();
  void resume_paused();
  void end_all(const std::string& reason);
  int milliseconds_to_wait() const;
  Active take_out(CURL* easy);
  void finish(Active active, Outcome outcome);

  Shared& shared_;
  Dispatcher& dispatcher_;
  CURLM* multi_ = nullptr;
  std::size_t number_ = 0;
  // The rest is the thread's own.
  std::vector<Active> active_;
  double next_speed_check_ = 0;
  std::thread thread_;
};

}  // namespace stage_model::http
