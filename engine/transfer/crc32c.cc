#include "engine/transfer/crc32c.h"

#include <array>
#include <cstring>

#if defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace stage_model::transfer {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  constexpr std::uint32_t kPolynomial = 0x82f63b78;  // bits reversed
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = value;
  }
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    for (std::size_t i = 1; i < tables.size(); ++i) {
      const std::uint32_t before = tables[i - 1][byte];
      tables[i][byte] = (before >> 8) ^ tables[0][before & 255];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint32_t add_byte(std::uint32_t state, std::byte byte) {
  return (state >> 8) ^ kTables[0][(state ^ std::to_integer<std::uint32_t>(byte)) & 255];
}

// Each takes and gives the inner state, which is the inverse of the checksum.
std::uint32_t by_table(std::uint32_t state, const std::byte* data, std::size_t length) {
  for (; length >= 8; data += 8, length -= 8) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const std::uint32_t from = i < 4 ? (state >> (8 * i)) & 255 : 0;
      next ^= kTables[7 - i][from ^ std::to_integer<std::uint32_t>(data[i])];
    }
    state = next;
  }
  for (; length > 0; ++data, --length) state = add_byte(state, *data);
  return state;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::uint32_t state,
                                                               const std::byte* data,
                                                               std::size_t length) {
  unsigned long long wide = state;
  for (; length >= 8; data += 8, length -= 8) {
    unsigned long long word = 0;
    std::memcpy(&word, data, 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  state = static_cast<std::uint32_t>(wide);
  for (; length > 0; ++data, --length) state = add_byte(state, *data);
  return state;
}
bool has_instruction() { return __builtin_cpu_supports("sse4.2") != 0; }

#elif defined(__aarch64__)

__attribute__((target("+crc"))) std::uint32_t by_instruction(std::uint32_t state,
                                                             const std::byte* data,
                                                             std::size_t length) {
  for (; length >= 8; data += 8, length -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, 8);
    state = __crc32cd(state, word);
  }
  for (; length > 0; ++data, --length) state = add_byte(state, *data);
  return state;
}
bool has_instruction() {
  constexpr unsigned long kCrc32 = 1UL << 7;  // HWCAP_CRC32
  return (getauxval(AT_HWCAP) & kCrc32) != 0;
}

#else

std::uint32_t by_instruction(std::uint32_t state, const std::byte* data, std::size_t length) {
  return by_table(state, data, length);
}
bool has_instruction() { return false; }

#endif

}  // namespace

std::uint32_t crc32c(std::uint32_t crc, const std::byte* data, std::size_t length) {
  static const auto update = has_instruction() ? &by_instruction : &by_table;
  return ~update(~crc, data, length);
}

std::uint32_t crc32c_by_table(std::uint32_t crc, const std::byte* data, std::size_t length) {
  return ~by_table(~crc, data, length);
}

}  // namespace stage_model::transfer
