#include "engine/launch/launcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <thread>
#include <utility>
#include <variant>

#include "engine/launch/assemble.h"
#include "engine/launch/engine_arguments.h"
#include "engine/launch/engine_environment.h"
#include "engine/launch/node_addresses.h"
#include "engine/launch/outcome_record.h"
#include "engine/launch/user_directory.h"

namespace stage_model::launch {
namespace {

bool directory_exists(const std::string& path) {
  struct stat info {};
  return !path.empty() && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// A reader that has stopped (a pager, a terminal on hold) must not stop the heartbeats: what it
// does not take within a second is dropped. Up to PIPE_BUF bytes never block once poll says so.
void print(int fd, std::string_view text) {
  constexpr int kLongestMs = 1000;
  while (!text.empty()) {
    pollfd ready{fd, POLLOUT, 0};
    if (poll(&ready, 1, kLongestMs) <= 0) return;
    const ssize_t put = write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (put <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

}  // namespace

Launcher::Launcher(LaunchOrder request, Config config, LaunchOptions options)
    : request_(std::move(request)),
      config_(std::move(config)),
      options_(std::move(options)),
      coordinator_(request_.nodes, setup()),
      had_record_dir_(directory_exists(request_.record_dir)) {
  log_ = std::make_unique<LogFile>(had_record_dir_ ? request_.record_dir + "/engine.log" : "");
}

Launcher::~Launcher() {
  // PMIx's thread still runs and may call back into the host: it goes with the process.
  [[maybe_unused]] PmixHost* host = pmix_.release();
  if (signal_fd_ >= 0) close(signal_fd_);
}

Coordinator::Setup Launcher::setup() const {
  Coordinator::Setup setup;
  setup.index = request_.index;
  setup.runs = static_cast<std::uint32_t>(request_.runs.size());
  setup.uid = request_.uid;
  setup.may_return = options_.by_hand;
  setup.deadline_s = request_.deadline_s > 0 ? request_.deadline_s : config_.deadline_s;
  setup.rendezvous_timeout_s = config_.rendezvous_timeout_s;
  setup.heartbeat_timeout_s = config_.heartbeat_timeout_s;
  setup.engine.start_timeout_s = config_.engine_start_timeout_s;
  setup.engine.stall_timeout_s = config_.stall_timeout_s;
  setup.engine.kill_wait_s = config_.kill_wait_s;
  setup.star_limit = options_.star_limit;
  setup.fan_out = options_.fan_out;
  return setup;
}

Outcome Launcher::run() {
  watch_signals();
  if (const Status open = open_links(); !open) {
    coordinator_.cannot_meet(now(), open.error());
  } else {
    coordinator_.start(now());
    look_up_user();
    if (const Status ready = prepare(); ready) {
      log("PMIx server is up");
      coordinator_.prepared(now());
    } else {
      coordinator_.not_prepared(now(), ready.error());
    }
  }
  settle();
  loop_.run();
  return coordinator_.outcome();
}

// --- Before the engine.

Status Launcher::open_links() {
  Result<std::unique_ptr<Authenticator>> authenticator = make_authenticator(config_);
  if (!authenticator) return tl::unexpected(authenticator.error());
  authenticator_ = std::move(*authenticator);
  LinkEvents events;
  events.admits = [this](std::uint32_t child) { return coordinator_.admits(child); };
  events.refused = [this](std::uint32_t child, const std::string& why) {
    coordinator_.child_refused(child, why);
  };
  events.up = [this](std::uint32_t neighbour) {
    coordinator_.link_up(now(), neighbour);
    settle();
  };
  events.frame = [this](std::uint32_t neighbour, const Frame& frame) {
    coordinator_.received(now(), neighbour, frame);
    settle();
  };
  events.down = [this](std::uint32_t neighbour, const std::string& why) {
    coordinator_.link_down(now(), neighbour, why);
    settle();
  };
  links_ = std::make_unique<Links>(loop_, *authenticator_, coordinator_.tree(), config_, request_,
                                   std::move(events));
  return links_->listen();
}

Status Launcher::prepare() {
  const Result<std::string> engine = find_engine(options_.engine);
  if (!engine) return tl::unexpected(engine.error());
  engine_path_ = *engine;
  if (const std::string problem = raise_memlock(); !problem.empty()) log(problem);
  if (!request_.user_root.empty()) {
    Status made =
        make_user_directory(request_.root, request_.user_root, request_.uid, request_.gid);
    if (!made) return made;
  }
  Result<std::unique_ptr<SessionDirectory>> session =
      SessionDirectory::create(request_.job, request_.index, request_.uid, request_.gid);
  if (!session) return tl::unexpected(session.error());
  session_ = std::move(*session);
  Result<std::unique_ptr<PmixHost>> host =
      PmixHost::start(loop_.mailbox(), pmix_job(0), session_->server());
  if (!host) return tl::unexpected(host.error());
  pmix_ = std::move(*host);
  return {};
}

void Launcher::watch_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
  signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  loop_.watch(signal_fd_, POLLIN, [this](short) {
    signalfd_siginfo info{};
    if (read(signal_fd_, &info, sizeof info) != sizeof info) return;
    coordinator_.cancel(now());
    settle();
  });
}

void Launcher::look_up_user() {
  std::thread([mailbox = loop_.mailbox(), uid = request_.uid, gid = request_.gid,
               user = request_.user, this] {
    const Identity identity = look_up_identity(uid, gid, user);
    mailbox->post([this, identity] {
      identity_ = std::make_unique<Identity>(identity);
      coordinator_.user_found(now());
      settle();
    });
  }).detach();
}

// --- Actions.

void Launcher::settle() {
  if (settling_) return;  // an action has led to an event: its actions come after this one's
  settling_ = true;
  for (;;) {
    const Actions actions = coordinator_.take_actions();
    if (actions.empty()) break;
    for (const Action& action : actions) {
      std::visit([this](const auto& wanted) { carry_out(wanted); }, action);
    }
  }
  settling_ = false;
  loop_.cancel(timer_);
  const double next = coordinator_.next_deadline();
  if (std::isfinite(next)) timer_ = loop_.after(next - now(), [this] { tick(); });
}

void Launcher::tick() {
  if (links_) {
    links_->tell_heard(
        [this](std::uint32_t neighbour, double when) { coordinator_.heard(neighbour, when); });
    coordinator_.parent_unreachable(links_->parent_problem());
  }
  coordinator_.tick(now());
  settle();
}

void Launcher::carry_out(const Send& send) { links_->send(send.to, send.type, send.body); }

void Launcher::carry_out(const CloseLink& close) { links_->close(close.neighbour); }

void Launcher::carry_out(const FindParent& /*find*/) { links_->find_parent(); }

void Launcher::carry_out(const StopListening& /*stop*/) {
  if (links_) links_->stop_listening();
}

void Launcher::carry_out(const FinishLinks& /*finish*/) {
  if (links_) links_->finish();
}

void Launcher::carry_out(const StartEngine& start) {
  if (const Status started = start_engine(start.run); started) {
    coordinator_.engine_started(now());
  } else {
    coordinator_.engine_not_started(now(), started.error());
  }
}

void Launcher::carry_out(const EndEngine& end) {
  if (engine_) engine_->end(end.at_once);
}

void Launcher::carry_out(const CompleteFence& fence) {
  pmix_->finish_fence(fence.ticket, fence.data);
}

void Launcher::carry_out(const CompleteModex& modex) {
  pmix_->finish_modex(modex.ticket, modex.status, modex.data);
}

void Launcher::carry_out(const LookUpPublished& look_up) {
  pmix_->publish_local([this, ask = look_up.ask](int status, const std::string& data) {
    coordinator_.published(now(), ask, status, data);
    settle();
  });
}

void Launcher::carry_out(const WriteRecord& record) {
  const std::string problem = write_outcome(request_, record.outcome, had_record_dir_);
  if (!problem.empty()) print(STDERR_FILENO, "stage-launch: " + problem + "\n");
}

void Launcher::carry_out(const Log& line) { log(line.text); }

void Launcher::carry_out(const End& /*end*/) { loop_.stop(); }

// --- The engine.

Status Launcher::start_engine(std::uint32_t run) {
  engine_.reset();
  const Result<std::vector<std::string>> pmix = pmix_->begin(pmix_job(run), pmix_events());
  if (!pmix) return tl::unexpected(pmix.error());
  ChildSpec spec;
  spec.program = engine_path_;
  spec.arguments = engine_arguments(config_, request_.runs[run]);
  spec.environment = environment(*pmix);
  spec.credentials = request_.credentials;
  spec.identity = *identity_;
  spec.switch_user = geteuid() == 0;
  Result<std::unique_ptr<EngineProcess>> engine =
      EngineProcess::start(loop_, spec, log_->is_open() ? log_->path() : "", engine_events());
  if (!engine) return tl::unexpected(engine.error());
  engine_ = std::move(*engine);
  return {};
}

EngineEvents Launcher::engine_events() {
  EngineEvents events;
  events.said = [this](const StatusEvent& event) {
    coordinator_.engine_said(now(), event);
    settle();
  };
  events.ended = [this](const EngineEnd& end) {
    coordinator_.engine_ended(now(), end);
    settle();
  };
  events.out = [this](std::string_view text) {
    log_->write(text);
    if (options_.by_hand && request_.index == 0) print(STDOUT_FILENO, text);
  };
  events.err = [this](std::string_view text) {
    log_->write(text);
    if (options_.by_hand) print(STDERR_FILENO, text);
  };
  return events;
}

PmixEvents Launcher::pmix_events() {
  PmixEvents events;
  events.fence = [this](std::uint64_t ticket, std::vector<std::uint32_t> members,
                        std::string data) {
    coordinator_.entered_fence(now(), ticket, std::move(members), std::move(data));
    settle();
  };
  events.modex = [this](std::uint64_t ticket, std::uint32_t rank) {
    coordinator_.asked_modex(now(), ticket, rank);
    settle();
  };
  events.aborted = [this](int status, const std::string& message) {
    coordinator_.aborted(now(), status, message, engine_ ? engine_->last_words() : "");
    settle();
  };
  events.finalized = [this] {
    coordinator_.finalized();
    settle();
  };
  return events;
}

PmixJob Launcher::pmix_job(std::uint32_t run) const {
  PmixJob job;
  job.name = fmt::format("stage.{}.{}", request_.job, run);
  job.me = request_.index;
  for (const Node& node : request_.nodes) job.nodes.push_back(node.name);
  job.directory = session_->user();
  job.uid = request_.uid;
  job.gid = request_.gid;
  return job;
}

std::vector<std::string> Launcher::environment(const std::vector<std::string>& pmix) const {
  EnvironmentInputs inputs;
  inputs.config = &config_;
  inputs.identity = identity_.get();
  inputs.session = session_->user();
  inputs.node = request_.nodes[request_.index].name;
  inputs.nodes = request_.nodes.size();
  inputs.address = links_->local_address();
  inputs.pmix = pmix;
  inputs.inherited = options_.inherited;
  return engine_environment(inputs);
}

void Launcher::log(const std::string& text) {
  const std::string line = fmt::format("[{:.3f} s] {}\n", now() - started_at_, text);
  log_->write(line);
  if (options_.verbose) {
    print(STDERR_FILENO,
          fmt::format("stage-launch: {}: {}", request_.nodes[request_.index].name, line));
  }
}

}  // namespace stage_model::launch
