#include "engine/launch/listener.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/launch/node_addresses.h"

namespace stage_model::launch {
namespace {

constexpr int kBacklog = 512;
constexpr std::size_t kSpareGreetings = 64;

// A listening socket on every address of the machine, or -1 with errno. Both families where the
// kernel has IPv6: a node may be known to its peers by either.
int listen_on(std::uint16_t port) {
  const int one = 1;
  int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0) {
    const int zero = 0;
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_addr = in6addr_any;
    any.sin6_port = htons(port);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0 &&
        listen(fd, kBacklog) == 0) {
      return fd;
    }
    const int error = errno;
    close(fd);
    errno = error;
    if (error == EADDRINUSE) return -1;
  }
  fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_ANY);
  any.sin_port = htons(port);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0 &&
      listen(fd, kBacklog) == 0) {
    return fd;
  }
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

Listener::Listener(Loop& loop, Authenticator& authenticator, const Tree& tree, std::string job,
                   ListenerEvents events)
    : loop_(loop),
      authenticator_(authenticator),
      tree_(tree),
      job_(std::move(job)),
      events_(std::move(events)) {}

Listener::~Listener() { stop(); }

Status Listener::start(const PortRange& range) {
  for (const std::uint16_t port : port_sequence(job_, range)) {
    fd_ = listen_on(port);
    if (fd_ >= 0) break;
    if (errno == EADDRINUSE || errno == EACCES) continue;
    return fail(ExitCode::kFabric,
                fmt::format("cannot listen on port {}: {}", port, std::strerror(errno)));
  }
  if (fd_ < 0) {
    return fail(ExitCode::kFabric,
                fmt::format("no free port from {} to {}; widen [ports] launcher_ports in "
                            "stage_model.toml",
                            range.first, range.last));
  }
  loop_.watch(fd_, POLLIN, [this](short) { on_connection(); });
  return {};
}

void Listener::stop() {
  while (!greetings_.empty()) drop(greetings_.begin());
  if (fd_ < 0) return;
  loop_.unwatch(fd_);
  close(fd_);
  fd_ = -1;
}

void Listener::on_connection() {
  for (int batch = 0; batch < kBacklog; ++batch) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    // An honest greeting takes milliseconds, so when there are too many the oldest goes: strangers
    // that connect and say nothing cannot keep the others out.
    if (greetings_.size() >= tree_.children().size() + kSpareGreetings) drop(greetings_.begin());
    const GreetingRef greeting = greetings_.emplace(greetings_.end());
    greeting->link = Link::create(loop_, fd);
    greeting->link->set_handlers(
        [this, greeting](const Frame& frame) { on_frame(greeting, frame); },
        [this, greeting](const std::string&) { drop(greeting); });
    greeting->timer = loop_.after(kGreetingTimeout, [this, greeting] { drop(greeting); });
  }
}

void Listener::drop(GreetingRef greeting) {
  loop_.cancel(greeting->timer);
  greeting->link->set_handlers(nullptr, nullptr);
  greeting->link->close();
  greetings_.erase(greeting);
}

void Listener::on_frame(GreetingRef greeting, const Frame& frame) {
  if (frame.type == MessageType::kHello && !greeting->hello_seen) {
    on_hello(greeting, frame);
  } else if (frame.type == MessageType::kCredential && greeting->hello_seen) {
    on_credential(greeting, frame);
  } else {
    drop(greeting);
  }
}

void Listener::on_hello(GreetingRef greeting, const Frame& frame) {
  const std::optional<Hello> hello = decode_hello(frame.body);
  const bool mine =
      hello && hello->job == job_ && hello->parent == tree_.me() && events_.admits(hello->child);
  if (!mine) {
    greeting->link->send(MessageType::kDeny, "");
    drop(greeting);
    return;
  }
  greeting->hello_seen = true;
  greeting->claim = {Claim::Role::kChild, job_,         hello->child,
                     tree_.me(),          hello->nonce, random_bytes(kNonceSize)};
  greeting->link->send(MessageType::kChallenge, greeting->claim.parent_nonce);
}

void Listener::on_credential(GreetingRef greeting, const Frame& frame) {
  const std::uint32_t child = greeting->claim.child;
  const Result<std::string> child_share = authenticator_.verify(greeting->claim, frame.body);
  if (!child_share || !events_.admits(child)) {
    if (!child_share) events_.refused(child, child_share.error().message);
    drop(greeting);
    return;
  }
  Claim own = greeting->claim;
  own.role = Claim::Role::kParent;
  const Result<Credential> own_credential = authenticator_.prove(own);
  if (!own_credential) {
    events_.refused(child, own_credential.error().message);
    drop(greeting);
    return;
  }
  const std::shared_ptr<Link> link = greeting->link;
  const LinkKeys keys = make_keys(*child_share, own_credential->share, own);
  link->send(MessageType::kWelcome, own_credential->text);
  link->secure(keys.down, keys.up);
  link->set_handlers(nullptr, nullptr);
  loop_.cancel(greeting->timer);
  greetings_.erase(greeting);
  events_.linked(child, link);
}

}  // namespace stage_model::launch
