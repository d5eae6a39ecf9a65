#include "engine/launch/wire.h"

#include <algorithm>

namespace stage_model::launch {
namespace {

constexpr std::string_view kMagic = "SML1";
constexpr std::uint32_t kProtocol = 1;
constexpr std::size_t kMaxJob = 64;
constexpr std::size_t kMaxNode = 256;
constexpr std::size_t kMaxMembers = 65536;

class Writer {
 public:
  void number(std::uint64_t value, int bytes) {
    for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
      out_.push_back(static_cast<char>((value >> shift) & 0xff));
    }
  }
  void text(std::string_view value) {
    number(value.size(), 4);
    out_ += value;
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Every read after the first bad one yields nothing; ask ended() last.
class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}

  std::uint64_t number(std::size_t bytes) {
    if (!good_ || in_.size() < bytes) {
      good_ = false;
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<unsigned char>(in_[i]);
    in_.remove_prefix(bytes);
    return value;
  }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::string text(std::size_t limit) {
    const std::size_t length = u32();
    if (!good_ || length > limit || length > in_.size()) {
      good_ = false;
      return {};
    }
    std::string value(in_.substr(0, length));
    in_.remove_prefix(length);
    return value;
  }
  void refuse() { good_ = false; }
  bool good() const { return good_; }
  bool ended() const { return good_ && in_.empty(); }

 private:
  std::string_view in_;
  bool good_ = true;
};

}  // namespace

std::string encode_frame(MessageType type, std::string_view body) {
  Writer out;
  out.number(static_cast<std::uint8_t>(type), 1);
  out.number(0, 3);
  out.number(body.size(), 4);
  std::string frame(kMagic);
  frame += out.take();
  frame += body;
  return frame;
}

void FrameReader::append(std::string_view bytes) {
  if (broken_) return;
  if (used_ > 0) {
    buffer_.erase(0, used_);
    used_ = 0;
  }
  buffer_ += bytes;
}

FrameReader::State FrameReader::next(Frame* frame) {
  if (broken_) return State::kBroken;
  const std::string_view rest = std::string_view(buffer_).substr(used_);
  // The magic is checked as far as it has come: a stranger is sent away at its first byte.
  const std::size_t known = std::min(rest.size(), kMagic.size());
  broken_ = rest.substr(0, known) != kMagic.substr(0, known);
  if (broken_) return State::kBroken;
  if (rest.size() < kFrameHeader) return State::kMore;
  Reader header(rest.substr(kMagic.size(), kFrameHeader - kMagic.size()));
  const std::uint64_t type = header.number(1);
  const std::uint64_t zero = header.number(3);
  const std::uint64_t length = header.number(4);
  broken_ = type == 0 || type > kLastMessageType || zero != 0 || length > max_body_;
  if (broken_) return State::kBroken;
  if (rest.size() - kFrameHeader < length) return State::kMore;
  frame->type = static_cast<MessageType>(type);
  frame->body.assign(rest.substr(kFrameHeader, length));
  used_ += kFrameHeader + length;
  return State::kFrame;
}

std::string encode(const Hello& hello) {
  Writer out;
  out.number(kProtocol, 4);
  out.text(hello.job);
  out.number(hello.child, 4);
  out.number(hello.parent, 4);
  out.text(hello.nonce);
  return out.take();
}

std::optional<Hello> decode_hello(std::string_view body) {
  Reader in(body);
  Hello hello;
  if (in.u32() != kProtocol) return std::nullopt;
  hello.job = in.text(kMaxJob);
  hello.child = in.u32();
  hello.parent = in.u32();
  hello.nonce = in.text(kNonceSize);
  if (!in.ended() || hello.nonce.size() != kNonceSize) return std::nullopt;
  return hello;
}

std::string encode(const FenceData& fence) {
  Writer out;
  out.number(fence.key.run, 4);
  out.number(fence.key.sequence, 4);
  out.number(fence.key.members.size(), 4);
  for (const std::uint32_t member : fence.key.members) out.number(member, 4);
  out.text(fence.data);
  return out.take();
}

std::optional<FenceData> decode_fence(std::string_view body) {
  Reader in(body);
  FenceData fence;
  fence.key.run = in.u32();
  fence.key.sequence = in.u32();
  const std::size_t count = in.u32();
  if (!in.good() || count > kMaxMembers || count > body.size() / 4) return std::nullopt;
  fence.key.members.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t member = in.u32();
    if (i > 0 && member <= fence.key.members.back()) in.refuse();
    fence.key.members.push_back(member);
  }
  fence.data = in.text(kMaxBody);
  if (!in.ended()) return std::nullopt;
  return fence;
}

std::string encode(const Modex& modex) {
  Writer out;
  out.number(modex.run, 4);
  out.number(modex.from, 4);
  out.number(modex.to, 4);
  out.number(modex.id, 8);
  out.number(static_cast<std::uint32_t>(modex.status), 4);
  out.text(modex.data);
  return out.take();
}

std::optional<Modex> decode_modex(std::string_view body) {
  Reader in(body);
  Modex modex;
  modex.run = in.u32();
  modex.from = in.u32();
  modex.to = in.u32();
  modex.id = in.number(8);
  modex.status = static_cast<std::int32_t>(in.u32());
  modex.data = in.text(kMaxBody);
  if (!in.ended()) return std::nullopt;
  return modex;
}

std::string encode(const FailureText& failure) {
  Writer out;
  out.number(failure.weight, 4);
  out.number(failure.code, 4);
  out.text(std::string_view(failure.node).substr(0, kMaxNode));
  out.text(std::string_view(failure.reason).substr(0, kMaxReason));
  return out.take();
}

std::optional<FailureText> decode_failure(std::string_view body) {
  Reader in(body);
  FailureText failure;
  failure.weight = in.u32();
  failure.code = in.u32();
  failure.node = in.text(kMaxNode);
  failure.reason = in.text(kMaxReason);
  if (!in.ended()) return std::nullopt;
  return failure;
}

std::string encode_number(std::uint32_t number) {
  Writer out;
  out.number(number, 4);
  return out.take();
}

std::optional<std::uint32_t> decode_number(std::string_view body) {
  Reader in(body);
  const std::uint32_t number = in.u32();
  if (!in.ended()) return std::nullopt;
  return number;
}

}  // namespace stage_model::launch
