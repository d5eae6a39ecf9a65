// One run of the engine on this node, from fork to reaped: watches its status, its output and its
// end, and says once how it went. Belongs to the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/launch/child.h"
#include "engine/launch/log_file.h"
#include "engine/launch/loop.h"
#include "engine/launch/outcome.h"
#include "engine/launch/status_channel.h"
#include "engine/launch/tail.h"

namespace stage_model::launch {

struct EngineLimits {
  double start_timeout_s = 60;  // until MPI_Init is done
  double stall_timeout_s = 60;  // without a line on the status channel, from then on
  double kill_wait_s = 2;       // TERM to KILL
};

struct EngineEvents {
  std::function<void()> connected;                   // MPI_Init is done
  std::function<void(const Report& report)> failed;  // once at most; the engine may still run
  std::function<void()> done;                        // ended well; once at most
  std::function<void()> ended;                       // reaped, after failed or done; once
  std::function<void(std::string_view text)> out;    // its stdout
  std::function<void(std::string_view text)> err;    // its stderr
};

class EngineRun {
 public:
  // Errors: as Child::start.
  static Result<std::unique_ptr<EngineRun>> start(Loop& loop, const ChildSpec& spec,
                                                  const EngineLimits& limits, std::string node,
                                                  std::string log_path, EngineEvents events);
  ~EngineRun();
  EngineRun(const EngineRun&) = delete;
  EngineRun& operator=(const EngineRun&) = delete;

  void finalized() { finalized_ = true; }  // PMIx says: MPI_Finalize
  void aborted(int status, const std::string& message);
  void terminate();  // TERM, then KILL; what happens from here on is no failure of the engine's
  bool has_ended() const { return has_ended_; }

 private:
  EngineRun(Loop& loop, EngineLimits limits, std::string node, std::string log_path,
            EngineEvents events);
  void watch();
  void read_status();
  void on_status(const StatusEvent& event);
  void read_output(int fd, const std::function<void(std::string_view)>& sink);
  void arm_watchdog(double seconds, const std::string& reason);
  void on_exit();
  void judge(int status);
  void fail_once(Weight weight, ExitCode code, const std::string& node, const std::string& reason);
  void read_errors();
  std::string last_words() const;

  Loop& loop_;
  EngineLimits limits_;
  std::string node_;
  std::string log_path_;
  EngineEvents events_;
  std::unique_ptr<Child> child_;
  StatusReader status_;
  Tail tail_;  // of its stderr
  Loop::TimerId watchdog_ = 0;
  Loop::TimerId kill_timer_ = 0;
  std::string stage_ = "start";
  bool connected_ = false;
  bool staged_ = false;
  bool finalized_ = false;
  bool failed_ = false;
  bool terminating_ = false;
  bool has_ended_ = false;
  // What is posted after this run has gone finds it gone.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage_model::launch
