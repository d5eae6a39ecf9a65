#include "engine/contract/toml_writer.h"

#include "engine/base/text.h"

namespace stage_model {

std::string toml_text(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  const bool readable = valid_utf8(text);
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += byte >= 0x80 && !readable ? '?' : c;
    }
  }
  return out + "\"";
}

std::string toml_list(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) {
    if (out.size() > 1) out += ", ";
    out += toml_text(item);
  }
  return out + "]";
}

}  // namespace stage_model
