#include "engine/store/names.h"

#include <fmt/core.h>

#include "engine/base/text.h"
#include "engine/store/tree.h"

namespace stage_model::store {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string encode_name(std::string_view bytes) {
  const bool utf8 = valid_utf8(bytes);
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x80 ? utf8 : byte >= 0x20 && byte != 0x7f;
    if (plain && c != '%' && c != '"' && c != '\\') {
      text += c;
    } else {
      text += fmt::format("%{:02X}", byte);
    }
  }
  return text;
}

bool decode_name(std::string_view text, std::string* bytes) {
  bytes->clear();
  bytes->reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      *bytes += text[i];
      continue;
    }
    if (text.size() - i < 3) return false;
    const int high = digit(text[i + 1]);
    const int low = digit(text[i + 2]);
    if (high < 0 || low < 0) return false;
    *bytes += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}

bool safe_name(std::string_view name) {
  if (name.find('\0') != std::string_view::npos) return false;
  const std::string_view first = name.substr(0, name.find('/'));
  if (first == kOwnDirectory) return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace stage_model::store
