// The process of one run of the engine on this node, from fork to reaped: reads its status pipe and
// its output, and tells when it has ended. What that means is judged elsewhere (engine_watch.h).
// Belongs to the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "engine/launch/child.h"
#include "engine/launch/engine_output.h"
#include "engine/launch/engine_status.h"
#include "engine/launch/engine_watch.h"
#include "engine/launch/loop.h"

namespace stage_model::launch {

struct EngineEvents {
  std::function<void(const StatusEvent& event)> said;
  std::function<void(const EngineEnd& end)> ended;  // reaped; once, and the last
  std::function<void(std::string_view text)> out;   // its stdout
  std::function<void(std::string_view text)> err;   // its stderr
};

class EngineProcess {
 public:
  // log_path: named in messages; may be empty. Errors: as Child::start.
  static Result<std::unique_ptr<EngineProcess>> start(Loop& loop, const ChildSpec& spec,
                                                      std::string log_path, EngineEvents events);
  ~EngineProcess();
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  void end(bool at_once);  // SIGTERM, or SIGKILL at once, to its whole process group
  // What it said last and where the log is, to be put after a message.
  std::string last_words() const;

 private:
  EngineProcess(Loop& loop, std::string log_path, EngineEvents events);
  void watch();
  void read_status();
  void read_output(int fd, const std::function<void(std::string_view)>& sink);
  void read_errors();
  void on_exit();

  Loop& loop_;
  std::string log_path_;
  EngineEvents events_;
  std::unique_ptr<Child> child_;
  StatusReader status_;
  Tail tail_;  // of its stderr
  bool reaped_ = false;
  // What is posted after this object has gone finds it gone.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage_model::launch
