#include "engine/launch/tail.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "engine/base/text.h"

namespace stage_model::launch {
namespace {

constexpr std::size_t kKept = 4096;
constexpr std::size_t kShown = 200;

}  // namespace

void Tail::add(std::string_view text) {
  text_ += text.substr(text.size() - std::min(text.size(), kKept));
  if (text_.size() > kKept) text_.erase(0, text_.size() - kKept);
}

std::string Tail::last_line() const {
  std::string_view rest(text_);
  while (!rest.empty()) {
    const std::size_t before = rest.rfind('\n');
    const std::string_view line = before == std::string_view::npos ? rest : rest.substr(before + 1);
    const bool says = std::any_of(line.begin(), line.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0;
    });
    if (says) return stage_model::one_line(line, kShown);
    rest = before == std::string_view::npos ? std::string_view() : rest.substr(0, before);
  }
  return {};
}

}  // namespace stage_model::launch
