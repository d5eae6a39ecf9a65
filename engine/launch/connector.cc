#include "engine/launch/connector.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace stage_model::launch {
namespace {

constexpr double kResolveAgain = 0.5;
// A name that resolves may be that of a pod which was replaced since: the new one has another
// address.
constexpr double kAddressesAge = 3;
constexpr double kConnectTimeout = 2;
constexpr double kFirstPause = 0.02;
constexpr double kLastPause = 0.5;
// Most often the first port is the right one, and until the parent is up it is refused: a round
// looks at a few ports only, and at more when that has not helped.
constexpr std::size_t kPortsPerRound = 4;

}  // namespace

Connector::Connector(Loop& loop, Authenticator& authenticator, const Tree& tree,
                     const Config& config, std::string job, Node parent, OnLinked on_linked)
    : loop_(loop),
      authenticator_(authenticator),
      tree_(tree),
      config_(config),
      job_(std::move(job)),
      parent_(std::move(parent)),
      on_linked_(std::move(on_linked)),
      ports_(port_sequence(job_, config.launcher_ports)) {}

Connector::~Connector() { stop(); }

void Connector::start() {
  stopped_ = false;
  round_ = 0;
  problem_.clear();
  tells_ = Tells::kNothing;
  if (addresses_.empty()) {
    resolve();
  } else {
    asked_at_ = 0;  // the old addresses may do, but are asked for again
    begin_round();
  }
}

void Connector::stop() {
  stopped_ = true;
  drop_attempt();
}

std::string Connector::problem() const {
  if (addresses_.empty()) {
    return problem_.empty()
               ? fmt::format("the name of node {} is still being resolved", parent_.name)
               : problem_;
  }
  std::string where;
  for (const Address& address : addresses_) {
    where += (where.empty() ? "" : ", ") + address.text();
  }
  return fmt::format("at {}, ports from {}: {}", where, ports_.empty() ? 0 : ports_.front(),
                     problem_.empty() ? "no answer" : problem_);
}

// The resolver blocks, for minutes where DNS is broken, and a headless service of Kubernetes knows
// its names only once they are up: so on a thread of its own, and again.
void Connector::resolve() {
  if (stopped_ || resolving_) return;
  resolving_ = true;
  asked_at_ = now();
  std::thread([mailbox = loop_.mailbox(), node = parent_, config = config_, this] {
    const auto found = addresses_of(node, config);
    mailbox->post([this, found] { on_resolved(found); });
  }).detach();
}

void Connector::on_resolved(const Result<std::vector<Address>>& addresses) {
  resolving_ = false;
  if (stopped_) return;
  if (!addresses_.empty()) {  // asked again, in the middle of a round
    if (addresses) addresses_ = *addresses;
    return;
  }
  if (!addresses) {
    problem_ = addresses.error().message;
    timer_ = loop_.after(kResolveAgain, [this] { resolve(); });
    return;
  }
  addresses_ = *addresses;
  problem_.clear();
  tells_ = Tells::kNothing;
  begin_round();
}

void Connector::begin_round() {
  if (now() - asked_at_ > kAddressesAge) resolve();
  attempt_ = 0;
  ++round_;
  try_next();
}

void Connector::try_next() {
  const std::size_t ports =
      std::min(ports_.size(), kPortsPerRound * static_cast<std::size_t>(round_));
  if (attempt_ >= ports * addresses_.size()) {
    const double pause = std::min(kLastPause, kFirstPause * (1 << std::min(round_, 6)));
    timer_ = loop_.after(pause, [this] { begin_round(); });
    return;
  }
  Address address = addresses_[attempt_ % addresses_.size()];
  address.set_port(ports_[attempt_ / addresses_.size()]);
  ++attempt_;
  fd_ = socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0 ||
      (connect(fd_, reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0 &&
       errno != EINPROGRESS)) {
    next_after_failure(Tells::kRefused, std::strerror(errno));
    return;
  }
  loop_.watch(fd_, POLLOUT, [this](short) { on_connected(); });
  timer_ = loop_.after(kConnectTimeout,
                       [this] { next_after_failure(Tells::kTimedOut, "connection timed out"); });
}

// The next attempt starts from the loop, not from here: a long list of refused ports must neither
// grow the stack nor keep a signal waiting.
void Connector::next_after_failure(Tells tells, const std::string& problem) {
  if (tells >= tells_) {
    problem_ = problem;
    tells_ = tells;
  }
  drop_attempt();
  if (!stopped_) timer_ = loop_.after(0, [this] { try_next(); });
}

void Connector::drop_attempt() {
  loop_.cancel(timer_);
  if (fd_ >= 0) {
    loop_.unwatch(fd_);
    close(fd_);
    fd_ = -1;
  }
  if (link_) {
    link_->set_handlers(nullptr, nullptr);
    link_->close();
    link_.reset();
  }
}

void Connector::on_connected() {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) {
    next_after_failure(Tells::kRefused, std::strerror(error));
    return;
  }
  loop_.unwatch(fd_);
  loop_.cancel(timer_);
  link_ = Link::create(loop_, fd_);
  fd_ = -1;
  claim_ = {Claim::Role::kChild, job_, tree_.me(), tree_.parent(), random_bytes(kNonceSize), ""};
  own_share_.clear();
  link_->set_handlers([this](const Frame& frame) { on_frame(frame); },
                      [this](const std::string&) {
                        if (own_share_.empty()) {
                          next_after_failure(Tells::kStranger, "another program answered");
                        } else {
                          next_after_failure(
                              Tells::kCredential,
                              "the launcher there refused this one's credential (not the same "
                              "munge key or key file, or clocks apart)");
                        }
                      });
  link_->send(MessageType::kHello,
              encode(Hello{job_, tree_.me(), tree_.parent(), claim_.child_nonce}));
  timer_ = loop_.after(kGreetingTimeout, [this] {
    next_after_failure(Tells::kStranger, "no answer to the greeting");
  });
}

void Connector::on_frame(const Frame& frame) {
  if (frame.type == MessageType::kChallenge && own_share_.empty()) {
    on_challenge(frame);
  } else if (frame.type == MessageType::kWelcome && !own_share_.empty()) {
    on_welcome(frame);
  } else if (frame.type == MessageType::kDeny) {
    next_after_failure(Tells::kStranger, "a launcher of another job answered");
  } else {
    next_after_failure(Tells::kStranger, "another program answered");
  }
}

void Connector::on_challenge(const Frame& frame) {
  if (frame.body.size() != kNonceSize) {
    next_after_failure(Tells::kStranger, "another program answered");
    return;
  }
  claim_.parent_nonce = frame.body;
  Result<Credential> credential = authenticator_.prove(claim_);
  if (!credential) {
    next_after_failure(Tells::kCredential, credential.error().message);
    return;
  }
  own_share_ = std::move(credential->share);
  link_->send(MessageType::kCredential, credential->text);
}

void Connector::on_welcome(const Frame& frame) {
  Claim expected = claim_;
  expected.role = Claim::Role::kParent;
  const Result<std::string> parent_share = authenticator_.verify(expected, frame.body);
  if (!parent_share) {
    next_after_failure(Tells::kCredential, parent_share.error().message);
    return;
  }
  const LinkKeys keys = make_keys(own_share_, *parent_share, claim_);
  link_->secure(keys.up, keys.down);
  link_->set_handlers(nullptr, nullptr);
  loop_.cancel(timer_);
  stopped_ = true;
  const std::shared_ptr<Link> link = std::move(link_);
  on_linked_(link);
}

}  // namespace stage_model::launch
