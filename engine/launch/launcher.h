// One launcher of a job: meets the others, runs the engine once per run, and agrees with them on
// one outcome. What is decided is decided by the coordinator; this is its driver, which carries its
// actions out with sockets, PMIx, the engine's process and files, and tells it what has happened.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/launch/coordinator.h"
#include "engine/launch/engine_output.h"
#include "engine/launch/engine_process.h"
#include "engine/launch/identity.h"
#include "engine/launch/links.h"
#include "engine/launch/loop.h"
#include "engine/launch/peer_auth.h"
#include "engine/launch/pmix_host.h"
#include "engine/launch/session_directory.h"
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
  Coordinator::Setup setup() const;
  Status open_links();
  Status prepare();
  void watch_signals();
  void look_up_user();

  void settle();  // carries out what the coordinator wants, and asks it again when it is time
  void tick();
  void carry_out(const Send& send);
  void carry_out(const CloseLink& close);
  void carry_out(const FindParent& find);
  void carry_out(const StopListening& stop);
  void carry_out(const FinishLinks& finish);
  void carry_out(const StartEngine& start);
  void carry_out(const EndEngine& end);
  void carry_out(const CompleteFence& fence);
  void carry_out(const CompleteModex& modex);
  void carry_out(const LookUpPublished& look_up);
  void carry_out(const WriteRecord& record);
  void carry_out(const Log& line);
  void carry_out(const End& end);

  Status start_engine(std::uint32_t run);
  EngineEvents engine_events();
  PmixEvents pmix_events();
  PmixJob pmix_job(std::uint32_t run) const;
  std::vector<std::string> environment(const std::vector<std::string>& pmix) const;
  void log(const std::string& text);  // to the log, and to stderr when verbose

  Loop loop_;
  LaunchOrder request_;
  Config config_;
  LaunchOptions options_;
  Coordinator coordinator_;
  double started_at_ = now();
  bool had_record_dir_ = false;
  std::unique_ptr<LogFile> log_;
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<SessionDirectory> session_;
  std::unique_ptr<Links> links_;
  std::unique_ptr<PmixHost> pmix_;
  std::string engine_path_;
  std::unique_ptr<EngineProcess> engine_;
  std::unique_ptr<Identity> identity_;
  int signal_fd_ = -1;
  Loop::TimerId timer_ = 0;
  bool settling_ = false;
};

}  // namespace stage_model::launch
