#include "engine/http/redact.h"

#include <algorithm>
#include <array>

#include "engine/base/text.h"
#include "stage_model/stores.h"

namespace stage_model::http {
namespace {

constexpr std::string_view kBlank = "REDACTED";

bool name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

bool value_end(char c) {
  return c == '&' || c == ' ' || c == '"' || c == '\'' || c == '<' || c == '>' || c == ';' ||
         static_cast<unsigned char>(c) < 0x20;
}

// "Authorization: Scheme proof", "Bearer proof", "SharedKey account:proof": all after the word.
void blank_authorization(std::string& text) {
  static constexpr std::array<std::string_view, 4> kWords = {"authorization:", "bearer ",
                                                             "sharedkey ", "basic "};
  for (const std::string_view word : kWords) {
    std::size_t from = 0;
    while (true) {
      const std::size_t at = lowered(text).find(word, from);
      if (at == std::string::npos) break;
      const std::size_t begin = at + word.size();
      const std::size_t end = std::min(text.find_first_of("\r\n\"", begin), text.size());
      text.replace(begin, end - begin, kBlank);
      from = begin + kBlank.size();
    }
  }
}

// "scheme://user:password@host"
void blank_user_info(std::string& text) {
  std::size_t from = 0;
  while (true) {
    const std::size_t at = text.find("://", from);
    if (at == std::string::npos) return;
    const std::size_t begin = at + 3;
    const std::size_t end = std::min(text.find_first_of("/?# \"'", begin), text.size());
    const std::size_t mark = text.rfind('@', end);
    from = begin;
    if (mark != std::string::npos && mark >= begin && mark < end) {
      text.replace(begin, mark - begin, kBlank);
      from = begin + kBlank.size();
    }
  }
}

}  // namespace

std::string redact(std::string_view text) {
  std::string in(text);
  blank_authorization(in);
  blank_user_info(in);
  std::string out;
  out.reserve(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i] == '=') {
      std::size_t name = out.size();
      while (name > 0 && name_byte(out[name - 1])) --name;
      if (is_secret_parameter(std::string_view(out).substr(name))) {
        out += '=';
        out += kBlank;
        while (i + 1 < in.size() && !value_end(in[i + 1])) ++i;
        continue;
      }
    }
    const auto byte = static_cast<unsigned char>(in[i]);
    out += byte < 0x20 || byte == 0x7f ? ' ' : in[i];
  }
  return out;
}

}  // namespace stage_model::http
