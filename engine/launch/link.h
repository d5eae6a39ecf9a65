// One TCP connection to another launcher: frames in and out, never blocking.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/launch/loop.h"
#include "engine/launch/wire.h"

namespace stage_model::launch {

// Held by shared_ptr; keeps itself alive during its own callbacks. Belongs to the loop's thread.
class Link : public std::enable_shared_from_this<Link> {
 public:
  using OnFrame = std::function<void(const Frame&)>;
  using OnClosed = std::function<void(const std::string& why)>;

  // Takes the descriptor (connected, non-blocking).
  static std::shared_ptr<Link> create(Loop& loop, int fd);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Both may be replaced at any time, also from within a callback. on_closed is called at most
  // once, and not after close().
  void set_handlers(OnFrame on_frame, OnClosed on_closed);

  // From here on every frame in either direction carries a MAC and may be large.
  void secure(std::string send_key, std::string receive_key);

  void send(MessageType type, const std::string& body);
  void finish();  // ends the sending side once everything is sent; still reads until the peer ends
  void close();

  bool is_open() const { return fd_ >= 0; }
  bool is_flushed() const { return out_used_ == out_.size(); }
  double last_heard() const { return last_heard_; }
  void forgive_silence() { last_heard_ = now(); }
  std::string local_address() const;  // literal, e.g. "10.0.0.1" or "fd00::1"

 private:
  Link(Loop& loop, int fd);
  void update_watch();
  void on_ready(short events);
  bool fill();  // false: the connection has ended
  bool flush();
  bool accept_mac(Frame* frame);
  void ended(const std::string& why);

  Loop& loop_;
  int fd_;
  FrameReader reader_;
  std::string out_;
  std::size_t out_used_ = 0;
  bool finishing_ = false;
  bool secured_ = false;
  std::string send_key_;
  std::string receive_key_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  double last_heard_ = now();
  OnFrame on_frame_;
  OnClosed on_closed_;
};

}  // namespace stage_model::launch
