// Numbers and texts as bytes, little-endian on every machine: journals, and what ranks send each
// other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace stage_model {

class ByteWriter {
 public:
  ByteWriter& number(std::uint64_t value, unsigned bytes = 8) {
    for (unsigned i = 0; i < bytes; ++i) out_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
  ByteWriter& raw(std::string_view bytes) {
    out_ += bytes;
    return *this;
  }
  ByteWriter& text(std::string_view value) { return number(value.size()).raw(value); }

  const std::string& bytes() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Takes values off the front. Once something is missing, all that follows is 0 or empty and ok() is
// false: asked once, at the end. What it gives out points into `in`.
class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}

  std::uint64_t number(unsigned bytes = 8) {
    std::uint64_t value = 0;
    const std::string_view taken = raw(bytes);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(taken[i])) << (8 * i);
    }
    return value;
  }
  std::string_view text() { return raw(number()); }
  std::string_view raw(std::uint64_t length) {
    if (length > in_.size()) {
      ok_ = false;
      in_ = {};
      return {};
    }
    const std::string_view taken = in_.substr(0, length);
    in_.remove_prefix(length);
    return taken;
  }
  // A count of items that take at least `least` bytes each: never more than there can be.
  std::uint64_t count(std::size_t least) {
    const std::uint64_t value = number();
    if (value > in_.size() / least) ok_ = false;
    return ok_ ? value : 0;
  }

  bool ok() const { return ok_; }
  bool done() const { return ok_ && in_.empty(); }

 private:
  std::string_view in_;
  bool ok_ = true;
};

}  // namespace stage_model
