#include "engine/launch/launcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <thread>

#include "engine/launch/assemble.h"
#include "engine/launch/engine_arguments.h"
#include "engine/launch/engine_environment.h"
#include "engine/launch/node_addresses.h"
#include "engine/launch/user_directory.h"

namespace stage_model::launch {
namespace {

// Index 0 waits this long after the first report of a failure: the reports of one event come within
// milliseconds of each other, and the first to come is often a consequence.
constexpr double kGather = 0.25;
// A launcher that has reported upwards and hears nothing acts alone.
constexpr double kActAlone = 2;
// … and one that cannot reach its parent yet gives it this long to come and hear.
constexpr double kActAloneUnlinked = 10;
// Whoever comes to a rendezvous that has failed is told so, for this long.
constexpr double kLinger = 2;
constexpr double kFlush = 1;       // neighbours that do not read any more
constexpr double kUnkillable = 5;  // after KILL: a process in the kernel's hands
constexpr double kCheckEnd = 0.02;

bool directory_exists(const std::string& path) {
  struct stat info {};
  return !path.empty() && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// A reader that has stopped (a pager, a terminal on hold) must not stop the heartbeats: what it
// does not take within a second is dropped. Up to PIPE_BUF bytes never block once poll says so.
void print(int fd, std::string_view text) {
  constexpr int kPatienceMs = 1000;
  while (!text.empty()) {
    pollfd ready{fd, POLLOUT, 0};
    if (poll(&ready, 1, kPatienceMs) <= 0) return;
    const ssize_t put = write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (put <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

ExitCode code_of(std::uint32_t number) {
  const bool known = number >= static_cast<std::uint32_t>(ExitCode::kUsage) &&
                     number <= static_cast<std::uint32_t>(ExitCode::kStopped);
  return known ? static_cast<ExitCode>(number) : ExitCode::kStopped;
}

}  // namespace

Launcher::Launcher(LaunchOrder request, Config config, LaunchOptions options)
    : request_(std::move(request)),
      config_(std::move(config)),
      options_(std::move(options)),
      tree_(static_cast<std::uint32_t>(request_.nodes.size()), request_.index, options_.star_limit,
            options_.fan_out),
      fences_(tree_),
      had_record_dir_(directory_exists(request_.record_dir)) {
  log_ = std::make_unique<LogFile>(had_record_dir_ ? request_.record_dir + "/engine.log" : "");
}

Launcher::~Launcher() {
  // PMIx's thread still runs and may call back into the host: it goes with the process.
  [[maybe_unused]] PmixHost* host = pmix_.release();
  if (signal_fd_ >= 0) close(signal_fd_);
}

Outcome Launcher::run() {
  watch_signals();
  Result<std::unique_ptr<Authenticator>> authenticator = make_authenticator(config_);
  if (authenticator) {
    authenticator_ = std::move(*authenticator);
    mesh_ = std::make_unique<Mesh>(
        loop_, *authenticator_, tree_, config_, request_, options_.by_hand,
        MeshEvents{[this] { on_met(); }, [this](std::uint32_t index) { on_linked(index); },
                   [this](std::uint32_t index, const Frame& frame) { on_message(index, frame); },
                   [this](std::uint32_t index, const std::string& why) { on_lost(index, why); },
                   [this](std::uint32_t index, const std::string& why) {
                     say(fmt::format("{} is gone ({}), and may come again",
                                     request_.nodes[index].name, why));
                   }});
  }
  const Status meeting = authenticator ? mesh_->start() : tl::unexpected(authenticator.error());
  if (!meeting) {
    // Nobody can be told. The others find this node missing.
    mesh_.reset();
    conclude({false, meeting.error().code, own_node(), meeting.error().message});
  } else {
    const double deadline = request_.deadline_s > 0 ? request_.deadline_s : config_.deadline_s;
    loop_.after(deadline, [this, deadline] {
      report({Weight::kDeadline, ExitCode::kStopped, "",
              fmt::format("staging took longer than its deadline of {:g} s", deadline)});
    });
    loop_.after(config_.rendezvous_timeout_s, [this] { on_rendezvous_timeout(); });
    look_up_user();
    const Status ready = prepare();
    prepared_ = ready.has_value();
    if (!ready) {
      report({Weight::kLocal, ready.error().code, own_node(), one_line(ready.error().message)});
    } else if (tree_.size() == 1) {
      start_run(0);
    }
  }
  loop_.run();
  return outcome_;
}

Status Launcher::prepare() {
  const Result<std::string> engine = find_engine(options_.engine);
  if (!engine) return tl::unexpected(engine.error());
  engine_path_ = *engine;
  if (const std::string problem = raise_memlock(); !problem.empty()) say(problem);
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
      PmixHost::start(loop_.mailbox(), pmix_job(), session_->server());
  if (!host) return tl::unexpected(host.error());
  pmix_ = std::move(*host);
  say("PMIx server is up");
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
    report({Weight::kCancelled, ExitCode::kStopped, "", "cancelled"});
  });
}

void Launcher::look_up_user() {
  std::thread([mailbox = loop_.mailbox(), uid = request_.uid, gid = request_.gid,
               user = request_.user, this] {
    const Identity identity = look_up_identity(uid, gid, user);
    mailbox->post([this, identity] {
      identity_ = std::make_unique<Identity>(identity);
      if (engine_wanted_) start_engine();
    });
  }).detach();
}

void Launcher::on_met() {
  if (!prepared_ || concluded_ || run_started_) return;
  say("all launchers have met");
  mesh_->send_down(MessageType::kStart, encode_number(0));
  start_run(0);
}

void Launcher::on_rendezvous_timeout() {
  if (run_started_ || concluded_) return;
  mesh_->stop_waiting();
  if (tree_.is_root() && !mesh_->is_complete()) {
    report({Weight::kMissing, ExitCode::kStopped, "",
            fmt::format("no launcher came within {:g} s from {}", config_.rendezvous_timeout_s,
                        mesh_->missing_nodes())});
  } else if (!tree_.is_root() && !mesh_->has_parent()) {
    report({Weight::kMissing, ExitCode::kStopped, own_node(),
            one_line(fmt::format("cannot reach the launcher on node {} within {:g} s: {}",
                                 request_.nodes[tree_.parent()].name, config_.rendezvous_timeout_s,
                                 mesh_->parent_problem()))});
    decide_after(0);
  }
  // A launcher with a parent waits for what it says: index 0 has the same limit, and its silence
  // shows in the heartbeats.
}

void Launcher::start_run(std::uint32_t run) {
  if (concluded_) return;
  run_ = run;
  run_started_ = true;
  mesh_->stop_waiting();
  // Gone again while the word to start was on its way.
  for (const std::uint32_t absent : mesh_->absent_children()) {
    on_lost(absent, "connection closed");
  }
  fences_.clear();
  fence_count_.clear();
  fence_tickets_.clear();
  modex_tickets_.clear();
  engine_.reset();
  if (!prepared_) return;  // reported already
  if (run >= request_.runs.size()) {
    report({Weight::kLocal, ExitCode::kFabric, own_node(),
            "the launchers of this job were asked for different numbers of models"});
    return;
  }
  engine_wanted_ = true;
  if (identity_) {
    start_engine();
  } else {
    loop_.after(config_.engine_start_timeout_s, [this] {
      if (!engine_wanted_) return;
      report({Weight::kLocal, ExitCode::kStopped, own_node(),
              fmt::format("the user database has not answered for uid {} within {:g} s",
                          request_.uid, config_.engine_start_timeout_s)});
    });
  }
}

PmixJob Launcher::pmix_job() const {
  PmixJob job;
  job.name = fmt::format("stage.{}.{}", request_.job, run_);
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
  inputs.node = own_node();
  inputs.nodes = request_.nodes.size();
  inputs.address = mesh_->local_address();
  inputs.interface = inputs.address.empty() ? "" : interface_of(inputs.address);
  inputs.pmix = pmix;
  inputs.inherited = options_.inherited;
  return engine_environment(inputs);
}

void Launcher::start_engine() {
  engine_wanted_ = false;
  if (concluded_) return;
  const auto failed = [this](const Error& error) {
    report({Weight::kLocal, error.code, own_node(), one_line(error.message)});
  };
  const Result<std::vector<std::string>> pmix = pmix_->begin(pmix_job(), pmix_events());
  if (!pmix) return failed(pmix.error());
  ChildSpec spec;
  spec.program = engine_path_;
  spec.arguments = engine_arguments(config_, request_.runs[run_]);
  spec.environment = environment(*pmix);
  spec.credentials = request_.credentials;
  spec.identity = *identity_;
  spec.switch_user = geteuid() == 0;
  const EngineLimits limits{config_.engine_start_timeout_s, config_.stall_timeout_s,
                            config_.kill_wait_s};
  Result<std::unique_ptr<EngineRun>> engine = EngineRun::start(
      loop_, spec, limits, own_node(), log_->is_open() ? log_->path() : "", engine_events());
  if (!engine) return failed(engine.error());
  engine_ = std::move(*engine);
  say(fmt::format("engine of run {} started", run_));
  std::vector<Modex> asks;
  asks.swap(early_asks_);
  for (const Modex& ask : asks) on_modex_message(MessageType::kModexAsk, ask);
}

EngineEvents Launcher::engine_events() {
  EngineEvents events;
  events.connected = [this] { say("MPI_Init is done"); };
  events.failed = [this](const Report& failure) { report(failure); };
  // Posted: the next run replaces the object that this is called from.
  events.done = [this] {
    loop_.mailbox()->post([this, run = run_] { finish_run(tree_.me(), run); });
  };
  events.ended = [this] { say("engine has ended"); };
  events.out = [this](std::string_view text) {
    log_->write(text);
    if (options_.by_hand && tree_.is_root()) print(STDOUT_FILENO, text);
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
    on_fence(ticket, std::move(members), std::move(data));
  };
  events.modex = [this](std::uint64_t ticket, std::uint32_t rank) { on_modex(ticket, rank); };
  events.aborted = [this](int status, const std::string& message) {
    if (engine_) engine_->aborted(status, message);
  };
  events.finalized = [this] {
    if (engine_) engine_->finalized();
  };
  return events;
}

// A run is over when it is over in every subtree; index 0 then begins the next, or ends it all.
void Launcher::finish_run(std::uint32_t neighbour, std::uint32_t run) {
  if (concluded_ || run != run_) return;
  finished_[neighbour] = run + 1;
  std::size_t sides = 0;
  for (const auto& [index, runs] : finished_) sides += runs == run + 1 ? 1 : 0;
  if (sides < tree_.children().size() + 1) return;
  if (!tree_.is_root()) {
    mesh_->send_up(MessageType::kDone, encode_number(run));
  } else if (run + 1 < request_.runs.size()) {
    mesh_->send_down(MessageType::kStart, encode_number(run + 1));
    start_run(run + 1);
  } else {
    agree();
  }
}

void Launcher::on_fence(std::uint64_t ticket, std::vector<std::uint32_t> members,
                        std::string data) {
  if (members.size() == tree_.size()) members.clear();
  FenceData fence{{run_, fence_count_[members]++, members}, std::move(data)};
  fence_tickets_[fence.key] = ticket;
  add_to_fence(tree_.me(), fence);
}

void Launcher::add_to_fence(std::uint32_t from, const FenceData& fence) {
  if (fence.key.run != run_) return;
  std::optional<std::string> whole = fences_.add(fence.key, from, fence.data);
  if (!whole) return;
  const FenceData combined{fence.key, std::move(*whole)};
  if (tree_.is_root()) {
    finish_fence(combined);
  } else {
    mesh_->send_up(MessageType::kFence, encode(combined));
  }
}

void Launcher::finish_fence(const FenceData& fence) {
  if (fence.key.run != run_) return;
  const std::string body = encode(fence);
  for (const Subtree& child : tree_.children()) {
    if (FenceBook::concerns(fence.key, child)) {
      mesh_->send_to(child.head, MessageType::kFenceDone, body);
    }
  }
  const auto ticket = fence_tickets_.find(fence.key);
  if (ticket == fence_tickets_.end()) return;
  pmix_->finish_fence(ticket->second, fence.data);
  fence_tickets_.erase(ticket);
}

void Launcher::on_modex(std::uint64_t ticket, std::uint32_t rank) {
  Modex ask;
  ask.run = run_;
  ask.from = tree_.me();
  ask.to = rank;
  ask.id = ++last_modex_;
  modex_tickets_[ask.id] = ticket;
  on_modex_message(MessageType::kModexAsk, ask);
}

void Launcher::on_modex_message(MessageType type, const Modex& modex) {
  if (modex.from >= tree_.size() || modex.to >= tree_.size()) return;
  if (modex.to != tree_.me()) {
    mesh_->send_towards(modex.to, type, encode(modex));
  } else if (type == MessageType::kModexAsk) {
    answer_modex(modex);
  } else if (modex.run == run_) {
    const auto ticket = modex_tickets_.find(modex.id);
    if (ticket == modex_tickets_.end()) return;
    pmix_->finish_modex(ticket->second, modex.status, modex.data);
    modex_tickets_.erase(ticket);
  }
}

void Launcher::answer_modex(const Modex& ask) {
  const bool begun = run_started_ && engine_ && ask.run == run_;
  if (!begun) {
    const bool ahead = ask.run > run_ || (ask.run == run_ && !engine_);
    if (ahead && early_asks_.size() < tree_.size()) early_asks_.push_back(ask);
    return;
  }
  pmix_->publish_local([this, ask](int status, const std::string& data) {
    Modex reply = ask;
    std::swap(reply.from, reply.to);
    reply.status = status;
    reply.data = data;
    on_modex_message(MessageType::kModexReply, reply);
  });
}

void Launcher::on_message(std::uint32_t neighbour, const Frame& frame) {
  const bool from_parent = !tree_.is_root() && neighbour == tree_.parent();
  switch (frame.type) {
    case MessageType::kStart: {
      const std::optional<std::uint32_t> run = decode_number(frame.body);
      if (!from_parent || !run || concluded_) return;
      mesh_->send_down(MessageType::kStart, frame.body);
      start_run(*run);
      return;
    }
    case MessageType::kDone:
      if (const auto run = decode_number(frame.body); run && !from_parent) {
        finish_run(neighbour, *run);
      }
      return;
    case MessageType::kFence:
      if (const auto fence = decode_fence(frame.body); fence && !from_parent) {
        add_to_fence(neighbour, *fence);
      }
      return;
    case MessageType::kFenceDone:
      if (const auto fence = decode_fence(frame.body); fence && from_parent) finish_fence(*fence);
      return;
    case MessageType::kModexAsk:
    case MessageType::kModexReply:
      if (const auto modex = decode_modex(frame.body)) on_modex_message(frame.type, *modex);
      return;
    case MessageType::kFailed:
      if (const auto failure = decode_failure(frame.body); failure && !from_parent) {
        report({static_cast<Weight>(failure->weight), code_of(failure->code), failure->node,
                one_line(failure->reason)});
      }
      return;
    case MessageType::kOutcome:
      if (const auto failure = decode_failure(frame.body); failure && from_parent) {
        conclude({false, code_of(failure->code), failure->node, one_line(failure->reason)});
      }
      return;
    case MessageType::kAgreed:
      if (from_parent) agree();
      return;
    default:
      return;
  }
}

void Launcher::on_linked(std::uint32_t neighbour) {
  if (!concluded_ || outcome_.staged) return;
  // Late to a rendezvous that has failed.
  mesh_->send_to(neighbour, MessageType::kOutcome,
                 encode(FailureText{0, static_cast<std::uint32_t>(outcome_.code), outcome_.node,
                                    outcome_.reason}));
}

void Launcher::on_lost(std::uint32_t neighbour, const std::string& why) {
  if (concluded_) return;
  report({Weight::kLost, ExitCode::kStopped, request_.nodes[neighbour].name,
          fmt::format("the launcher is gone ({}); was it or its node stopped?", why)});
  // Cut off from index 0 there is nobody to wait for.
  if (!tree_.is_root() && neighbour == tree_.parent()) decide_after(kGather);
}

void Launcher::report(const Report& failure) {
  if (concluded_) return;
  say(fmt::format("report: {}: {}", failure.node, failure.reason));
  verdict_.add(failure);
  if (tree_.is_root()) {
    decide_after(kGather);
    return;
  }
  mesh_->send_up(
      MessageType::kFailed,
      encode(FailureText{static_cast<std::uint32_t>(failure.weight),
                         static_cast<std::uint32_t>(failure.code), failure.node, failure.reason}));
  const bool wait_longer = !mesh_->has_parent() && failure.weight != Weight::kCancelled;
  decide_after(wait_longer ? kActAloneUnlinked : kActAlone);
}

// The earliest of several wishes counts.
void Launcher::decide_after(double seconds) {
  const double when = now() + seconds;
  if (decision_ != 0 && decision_at_ <= when) return;
  loop_.cancel(decision_);
  decision_at_ = when;
  decision_ = loop_.after(seconds, [this] { decide(); });
}

void Launcher::decide() {
  if (concluded_ || verdict_.empty()) return;
  const Report& best = verdict_.best();
  conclude({false, best.code, best.node, best.reason});
}

void Launcher::agree() {
  if (concluded_) return;
  mesh_->send_down(MessageType::kAgreed, "");
  conclude({true, ExitCode::kStaged, "", ""});
}

void Launcher::conclude(const Outcome& outcome) {
  if (concluded_) return;
  concluded_ = true;
  concluded_at_ = now();
  outcome_ = outcome;
  if (mesh_) mesh_->stop_waiting();
  if (!outcome.staged && mesh_) {
    mesh_->send_down(MessageType::kOutcome,
                     encode(FailureText{0, static_cast<std::uint32_t>(outcome.code), outcome.node,
                                        outcome.reason}));
  }
  if (engine_) engine_->terminate();
  if (mesh_) {
    const bool complete = outcome.staged || mesh_->has_all_children();
    loop_.after(complete ? 0 : kLinger, [this] {
      mesh_->stop_listening();
      mesh_->finish();
    });
  }
  check_end();
}

// Ends the loop once the engine is gone and the neighbours know, or have had their time.
void Launcher::check_end() {
  const double since = now() - concluded_at_;
  const bool engine_gone = !engine_ || engine_->has_ended();
  const bool gave_up = since > config_.kill_wait_s + kUnkillable;
  if (engine_gone || gave_up) {
    // Written before the goodbyes: nothing that a neighbour does can change it any more.
    if (!record_written_) {
      const std::string problem = write_outcome(request_, outcome_, had_record_dir_);
      if (!problem.empty()) print(STDERR_FILENO, "stage-launch: " + problem + "\n");
      record_written_ = true;
    }
    const bool complete = outcome_.staged || !mesh_ || mesh_->has_all_children();
    const double patience = complete ? kFlush : kLinger + kFlush;
    if (!mesh_ || mesh_->is_finished() || since > patience) {
      if (complete || since > kLinger) {
        loop_.stop();
        return;
      }
    }
  }
  loop_.after(kCheckEnd, [this] { check_end(); });
}

void Launcher::say(const std::string& text) {
  const std::string line = fmt::format("[{:.3f} s] {}\n", now() - started_at_, text);
  log_->write(line);
  if (options_.verbose) {
    print(STDERR_FILENO, fmt::format("stage-launch: {}: {}", own_node(), line));
  }
}

}  // namespace stage_model::launch
