// One launcher of a job: meets the others, runs the engine once per run, and agrees with them on
// one outcome. launcher.cc is the order of events; each part of it is a file of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/launch/auth.h"
#include "engine/launch/engine_run.h"
#include "engine/launch/fence.h"
#include "engine/launch/identity.h"
#include "engine/launch/log_file.h"
#include "engine/launch/loop.h"
#include "engine/launch/mesh.h"
#include "engine/launch/outcome.h"
#include "engine/launch/pmix_host.h"
#include "engine/launch/session_directory.h"
#include "engine/launch/tree.h"
#include "stage_model/config.h"
#include "stage_model/launch_order.h"

namespace stage_model::launch {

struct LaunchOptions {
  std::string engine;                  // name or path, see find_engine
  std::vector<std::string> inherited;  // variables that a caller by hand passes on
  // The engine's output goes to the caller's as well. And a launcher that is lost in the rendezvous
  // is waited for, since a container is restarted; a prolog that is gone never comes again.
  bool by_hand = false;
  bool verbose = false;  // times on stderr
  std::uint32_t star_limit = Tree::kStarLimit;
  std::uint32_t fan_out = Tree::kFanOut;
};

class Launcher {
 public:
  Launcher(LaunchOrder request, Config config, LaunchOptions options);
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  // SIGTERM, SIGINT and SIGHUP must be blocked in every thread: they are read here and cancel.
  // Returns once everything has ended on this node and the record is written.
  Outcome run();

 private:
  // Before the engine.
  Status prepare();
  void watch_signals();
  void look_up_user();
  void on_met();
  void on_rendezvous_timeout();

  // The engine.
  void start_run(std::uint32_t run);
  void start_engine();
  EngineEvents engine_events();
  PmixEvents pmix_events();
  PmixJob pmix_job() const;
  std::vector<std::string> environment(const std::vector<std::string>& pmix) const;
  void finish_run(std::uint32_t neighbour, std::uint32_t run);

  // What MPI asks for.
  void on_fence(std::uint64_t ticket, std::vector<std::uint32_t> members, std::string data);
  void add_to_fence(std::uint32_t from, const FenceData& fence);
  void finish_fence(const FenceData& fence);
  void on_modex(std::uint64_t ticket, std::uint32_t rank);
  void answer_modex(const Modex& ask);
  void on_modex_message(MessageType type, const Modex& modex);

  // The others.
  void on_message(std::uint32_t neighbour, const Frame& frame);
  void on_linked(std::uint32_t neighbour);
  void on_lost(std::uint32_t neighbour, const std::string& why);

  // The end.
  void report(const Report& report);
  void decide_after(double seconds);
  void decide();
  void agree();
  void conclude(const Outcome& outcome);
  void check_end();
  void say(const std::string& text);  // to the log, and to stderr when verbose

  const std::string& own_node() const { return request_.nodes[request_.index].name; }

  Loop loop_;
  LaunchOrder request_;
  Config config_;
  LaunchOptions options_;
  Tree tree_;
  FenceBook fences_;
  double started_at_ = now();
  bool had_record_dir_ = false;
  std::unique_ptr<LogFile> log_;
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<SessionDirectory> session_;
  std::unique_ptr<Mesh> mesh_;
  std::unique_ptr<PmixHost> pmix_;
  std::string engine_path_;
  std::unique_ptr<EngineRun> engine_;
  std::unique_ptr<Identity> identity_;
  int signal_fd_ = -1;

  bool prepared_ = false;
  std::uint32_t run_ = 0;
  bool run_started_ = false;                         // told to start run_
  bool engine_wanted_ = false;                       // … and the user is not looked up yet
  std::map<std::uint32_t, std::uint32_t> finished_;  // neighbour or self → runs finished
  std::map<std::vector<std::uint32_t>, std::uint32_t> fence_count_;
  std::map<FenceKey, std::uint64_t> fence_tickets_;
  std::map<std::uint64_t, std::uint64_t> modex_tickets_;  // message id → ticket
  std::uint64_t last_modex_ = 0;
  std::vector<Modex> early_asks_;  // for a run that has not begun here

  Verdict verdict_;
  Loop::TimerId decision_ = 0;
  double decision_at_ = 0;
  bool concluded_ = false;
  Outcome outcome_;
  double concluded_at_ = 0;
  bool record_written_ = false;
};

}  // namespace stage_model::launch
