#include "engine/launch/link.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "engine/launch/peer_auth.h"

namespace stage_model::launch {
namespace {

constexpr std::size_t kMacSize = 32;

std::string mac(const std::string& key, std::uint64_t sequence, MessageType type,
                const std::string& body) {
  std::string text;
  for (int shift = 56; shift >= 0; shift -= 8) text.push_back(static_cast<char>(sequence >> shift));
  text.push_back(static_cast<char>(type));
  text += body;
  return hmac_sha256(key, text);
}

}  // namespace

std::shared_ptr<Link> Link::create(Loop& loop, int fd) {
  std::shared_ptr<Link> link(new Link(loop, fd));
  link->update_watch();
  return link;
}

Link::Link(Loop& loop, int fd) : loop_(loop), fd_(fd) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

Link::~Link() { close(); }

void Link::set_handlers(OnFrame on_frame, OnClosed on_closed) {
  on_frame_ = std::move(on_frame);
  on_closed_ = std::move(on_closed);
}

void Link::secure(std::string send_key, std::string receive_key) {
  secured_ = true;
  send_key_ = std::move(send_key);
  receive_key_ = std::move(receive_key);
  reader_.set_max_body(kMaxBody + kMacSize);
}

void Link::send(MessageType type, const std::string& body) {
  if (fd_ < 0 || finishing_) return;
  if (is_flushed()) {
    out_.clear();
    out_used_ = 0;
  }
  out_ += encode_frame(type, secured_ ? body + mac(send_key_, sent_++, type, body) : body);
  // A failed write shows as a closed connection in the loop, not in the middle of the caller.
  flush();
  update_watch();
}

void Link::finish() {
  finishing_ = true;
  flush();
  update_watch();
}

void Link::close() {
  if (fd_ < 0) return;
  loop_.unwatch(fd_);
  ::close(fd_);
  fd_ = -1;
}

std::string Link::local_address() const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  std::array<char, NI_MAXHOST> text{};
  if (getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&address), length, text.data(), text.size(), nullptr,
                  0, NI_NUMERICHOST) != 0) {
    return {};
  }
  std::string literal(text.data());
  // A dual-stack listener sees IPv4 peers as mapped addresses.
  const std::string mapped = "::ffff:";
  if (literal.rfind(mapped, 0) == 0) literal.erase(0, mapped.size());
  return literal;
}

void Link::update_watch() {
  if (fd_ < 0) return;
  const short events = static_cast<short>(POLLIN | (is_flushed() ? 0 : POLLOUT));
  loop_.watch(fd_, events, [self = weak_from_this()](short ready) {
    if (const auto link = self.lock()) link->on_ready(ready);
  });
}

void Link::on_ready(short events) {
  const auto self = shared_from_this();
  bool open = true;
  if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) open = fill();
  Frame frame;
  while (fd_ >= 0) {
    const FrameReader::State state = reader_.next(&frame);
    if (state == FrameReader::State::kMore) break;
    if (state == FrameReader::State::kBroken || (secured_ && !accept_mac(&frame))) {
      ended("it sent something that is not the launchers' protocol");
      return;
    }
    const OnFrame handler = on_frame_;
    if (handler) handler(frame);
  }
  if (fd_ < 0) return;
  if (open) open = flush();
  if (!open) {
    ended("connection lost");
  } else {
    update_watch();
  }
}

bool Link::fill() {
  constexpr std::size_t kPiece = 65536;
  constexpr std::size_t kAtOnce = std::size_t{1} << 20;  // then other descriptors get their turn
  std::array<char, kPiece> piece;                        // NOLINT: filled by recv
  for (std::size_t total = 0; total < kAtOnce;) {
    const ssize_t got = recv(fd_, piece.data(), piece.size(), MSG_DONTWAIT);
    if (got > 0) {
      reader_.append({piece.data(), static_cast<std::size_t>(got)});
      total += static_cast<std::size_t>(got);
      last_heard_ = now();
    } else if (got < 0 && errno == EAGAIN) {
      return true;
    } else if (got == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool Link::flush() {
  while (fd_ >= 0 && !is_flushed()) {
    const ssize_t put =
        ::send(fd_, out_.data() + out_used_, out_.size() - out_used_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put > 0) {
      out_used_ += static_cast<std::size_t>(put);
    } else if (put < 0 && errno == EAGAIN) {
      return true;
    } else if (put < 0 && errno != EINTR) {
      return false;
    }
  }
  if (finishing_ && fd_ >= 0) shutdown(fd_, SHUT_WR);
  return true;
}

bool Link::accept_mac(Frame* frame) {
  if (frame->body.size() < kMacSize) return false;
  const std::string claimed = frame->body.substr(frame->body.size() - kMacSize);
  frame->body.resize(frame->body.size() - kMacSize);
  return equal_secrets(claimed, mac(receive_key_, received_++, frame->type, frame->body));
}

void Link::ended(const std::string& why) {
  close();
  const OnClosed handler = on_closed_;
  if (handler) handler(why);
}

}  // namespace stage_model::launch
