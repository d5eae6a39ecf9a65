// Secrets as people put them into variables. Pure; thread-safe.
#pragma once

#include <string_view>

namespace stage_model::auth {

// Without blanks and line ends around it, and without one pair of quotation marks: az prints values
// in them unless it is told "-o tsv".
inline std::string_view pasted(std::string_view text) {
  const auto trim = [&text] {
    constexpr std::string_view kBlank = " \t\r\n";
    const std::size_t first = text.find_first_not_of(kBlank);
    text = first == std::string_view::npos
               ? std::string_view()
               : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
  };
  trim();
  const bool quoted = text.size() > 1 && text.front() == text.back() &&
                      (text.front() == '"' || text.front() == '\'');
  if (quoted) {
    text = text.substr(1, text.size() - 2);
    trim();
  }
  return text;
}

}  // namespace stage_model::auth
