#include "stage_model/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "engine/base/text.h"

namespace stage_model {
namespace {

struct Number {
  std::uint64_t whole = 0;
  long double fraction = 0;  // [0, 1)
  std::string_view unit;     // what follows
};

// Digits, at most one point with digits after it, no sign, no exponent.
std::optional<Number> parse_number(std::string_view text) {
  Number number;
  const char* const end = text.data() + text.size();
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  auto [after, error] = std::from_chars(text.data(), end, number.whole);
  if (error != std::errc()) return std::nullopt;
  if (after != end && *after == '.') {
    long double scale = 1;
    const char* const point = after++;
    for (; after != end && *after >= '0' && *after <= '9'; ++after) {
      scale /= 10;
      number.fraction += scale * static_cast<long double>(*after - '0');
    }
    if (after == point + 1) return std::nullopt;
  }
  number.unit = std::string_view(after, static_cast<std::size_t>(end - after));
  return number;
}

// The factor of "K", "Ki", "M", "Mi", ...; removes it from `unit`. `plain` is K's: 1000 or 1024.
double take_prefix(std::string_view& unit, double plain) {
  static constexpr std::string_view kLetters = "KMGTP";
  if (unit.empty()) return 1;
  const char letter = unit[0] == 'k' ? 'K' : unit[0];
  const std::size_t at = kLetters.find(letter);
  if (at == std::string_view::npos) return 1;
  unit.remove_prefix(1);
  const bool binary = !unit.empty() && unit[0] == 'i';
  if (binary) unit.remove_prefix(1);
  return std::pow(binary ? 1024.0 : plain, static_cast<double>(at + 1));
}

std::string bad(std::string_view what, std::string_view text, std::string_view examples) {
  return std::string(what) + " " + quote(text, 60) + " is not understood: write it like " +
         std::string(examples);
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto wrong = [&] {
    return fail(ExitCode::kUsage, bad("size", text, "4096, 64KiB, 16MiB or 1.5GB"));
  };
  const auto number = parse_number(text);
  if (!number) return wrong();
  std::string_view unit = number->unit;
  // A bare letter is binary ("64k"), a letter with B is decimal ("64kB"), as in most tools.
  const bool decimal = unit.size() == 2 && unit[1] == 'B';
  const auto factor = static_cast<std::uint64_t>(take_prefix(unit, decimal ? 1000 : 1024));
  const bool binary_unit = unit == "B" && number->unit.size() == 3;
  const bool plain = unit.empty() && number->unit.size() <= 2;
  if (!(plain || decimal || binary_unit || number->unit == "B")) return wrong();
  if (decimal && unit != "B") return wrong();
  if (factor == 1 && number->fraction != 0) return wrong();
  std::uint64_t bytes = 0;
  const auto part = static_cast<std::uint64_t>(number->fraction * static_cast<long double>(factor));
  if (__builtin_mul_overflow(number->whole, factor, &bytes) ||
      __builtin_add_overflow(bytes, part, &bytes)) {
    return fail(ExitCode::kUsage, "size " + quote(text, 60) + " is more than 16 EiB");
  }
  return bytes;
}

Result<double> parse_rate(std::string_view text) {
  const auto wrong = [&] {
    return fail(ExitCode::kUsage, bad("rate", text, "50Gbps, 400Mbit/s, 6GB/s or 6GiB/s"));
  };
  const auto number = parse_number(text);
  if (!number) return wrong();
  const double value =
      static_cast<double>(static_cast<long double>(number->whole) + number->fraction);
  std::string_view unit = number->unit;
  if (unit.empty()) return value;
  const double factor = take_prefix(unit, 1000);
  if (unit == "bps" || unit == "bit/s" || unit == "b/s") return value * factor / 8;
  if (unit == "B/s" || unit == "Bps") return value * factor;
  return wrong();
}

Result<double> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  static constexpr std::array<Unit, 6> kUnits = {
      {{"", 1}, {"s", 1}, {"ms", 0.001}, {"m", 60}, {"h", 3600}, {"d", 86400}}};
  if (const auto number = parse_number(text)) {
    for (const Unit& unit : kUnits) {
      if (number->unit == unit.name) {
        return static_cast<double>(static_cast<long double>(number->whole) + number->fraction) *
               unit.seconds;
      }
    }
  }
  return fail(ExitCode::kUsage, bad("duration", text, "90, 250ms, 1.5s, 30m, 1h or 1d"));
}

std::string format_size(std::uint64_t bytes) {
  static constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 would be printed as 1024.0: the next unit is meant.
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> out{};
  value = std::round(value * 10) / 10;
  const bool whole = value == std::floor(value);
  std::snprintf(out.data(), out.size(), whole ? "%.0f %s" : "%.1f %s", value, kUnits.at(unit));
  return out.data();
}

}  // namespace stage_model
