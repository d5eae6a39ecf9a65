// Texts of a fixed form, such as dates, taken apart from the front.
#pragma once

#include <cstddef>
#include <string_view>

namespace stage_model {

// Takes exactly `digits` digits.
inline bool take_digits(std::string_view& text, std::size_t digits, int& value) {
  if (text.size() < digits) return false;
  value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return true;
}

inline bool take_literal(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

}  // namespace stage_model
