// What launchers say to each other. A frame is
//   magic "SML1", type (1 byte), 3 zero bytes, length (4 bytes, big-endian), body.
// Pure functions over bytes, bounded; a peer's bytes never make them read or allocate beyond the
// limits. The bodies of an authenticated link end with a MAC, which link.cc adds and takes off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage_model::launch {

enum class MessageType : std::uint8_t {
  kHello = 1,   // child → parent: who I am, whom I want; not authenticated
  kChallenge,   // parent → child: a nonce
  kCredential,  // child → parent: credential
  kWelcome,     // parent → child: credential
  kDeny,        // parent → child: not the one you look for; try the next port
  kBeat,        // both ways, to show life
  kMet,         // up: an index has been authenticated
  kStart,       // down: begin run
  kFence,       // up: contribution of a subtree
  kFenceDone,   // down: everybody's contributions
  kModexAsk,    // routed to a rank
  kModexReply,  // routed back
  kFailed,      // up: a failure report
  kOutcome,     // down: the failure that all agree on
  kDone,        // up: the whole subtree has ended this run well
  kAgreed,      // down: all runs have ended well everywhere
  kLeft,        // up: an index, with all below it, is gone again while the rendezvous goes on
};
inline constexpr std::uint8_t kLastMessageType = static_cast<std::uint8_t>(MessageType::kLeft);

inline constexpr std::size_t kFrameHeader = 12;
inline constexpr std::size_t kMaxGreeting = 4096;               // body, before authentication
inline constexpr std::size_t kMaxBody = std::size_t{64} << 20;  // body, after it
inline constexpr std::size_t kNonceSize = 32;
inline constexpr std::size_t kMaxReason = 2048;

struct Frame {
  MessageType type = MessageType::kBeat;
  std::string body;
};

std::string encode_frame(MessageType type, std::string_view body);

// Cuts a byte stream into frames.
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_body = kMaxGreeting) : max_body_(max_body) {}
  void set_max_body(std::size_t max_body) { max_body_ = max_body; }
  void append(std::string_view bytes);

  enum class State { kFrame, kMore, kBroken };
  // kFrame: *frame is set. kBroken: not our protocol, or too long; stays broken.
  State next(Frame* frame);

 private:
  std::size_t max_body_;
  std::string buffer_;
  std::size_t used_ = 0;  // bytes of buffer_ already handed out
  bool broken_ = false;
};

struct Hello {
  std::string job;
  std::uint32_t child = 0;
  std::uint32_t parent = 0;
  std::string nonce;
};

struct FenceKey {
  std::uint32_t run = 0;
  std::uint32_t sequence = 0;          // counted per set of members
  std::vector<std::uint32_t> members;  // ascending; empty: everybody
  auto operator<=>(const FenceKey&) const = default;
};

struct FenceData {
  FenceKey key;
  std::string data;
};

struct Modex {  // kModexAsk and kModexReply
  std::uint32_t run = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t id = 0;
  std::int32_t status = 0;
  std::string data;
};

struct FailureText {  // kFailed and kOutcome
  std::uint32_t weight = 0;
  std::uint32_t code = 0;
  std::string node;
  std::string reason;
};

std::string encode(const Hello& hello);
std::string encode(const FenceData& fence);
std::string encode(const Modex& modex);
std::string encode(const FailureText& failure);
std::string encode_number(std::uint32_t number);  // kMet, kStart, kDone, kLeft

// nullopt: malformed. Trailing bytes are malformed too.
std::optional<Hello> decode_hello(std::string_view body);
std::optional<FenceData> decode_fence(std::string_view body);
std::optional<Modex> decode_modex(std::string_view body);
std::optional<FailureText> decode_failure(std::string_view body);
std::optional<std::uint32_t> decode_number(std::string_view body);

}  // namespace stage_model::launch
