#include "spank/sas_expiry.h"

#include <algorithm>
#include <array>
#include <string>

namespace stage_model::spank {
namespace {

// "2026-01-31T10:00:00Z" and its shorter forms; ":" may be "%3A". "" if it is not there.
std::string end_of(std::string_view token) {
  if (token.starts_with('?')) token.remove_prefix(1);
  while (!token.starts_with("se=")) {
    const std::size_t next = token.find('&');
    if (next == std::string_view::npos) return {};
    token.remove_prefix(next + 1);
  }
  token = token.substr(3, token.find('&') - 3);
  std::string value;
  while (!token.empty()) {
    const bool colon = token.starts_with("%3A") || token.starts_with("%3a");
    value += colon ? ':' : token.front();
    token.remove_prefix(colon ? 3 : 1);
  }
  return value;
}

bool is_time(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  return (text.size() == 10 || text.size() == 16 || text.size() == 19) &&
         std::equal(text.begin(), text.end(), kForm.begin(), [](char c, char form) {
           return form == 'd' ? c >= '0' && c <= '9' : c == form;
         });
}

}  // namespace

std::string_view sas_of_connection_string(std::string_view text, std::string_view url) {
  std::string_view sas;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals);
    const std::string_view value = part.substr(std::min(part.size(), equals + 1));
    if (name == "AccountKey") return {};
    if (name == "AccountName" && url.find(value) == std::string_view::npos) return {};
    if (name == "SharedAccessSignature") sas = value;
  }
  return sas;
}

Status check_sas_expiry(std::string_view token, std::time_t now, const char* variable) {
  std::string end = end_of(token);
  if (end.ends_with('Z')) end.pop_back();
  if (!is_time(end)) return {};
  end += std::string_view("T00:00:00").substr(end.size() - 10);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> here{};
  std::strftime(here.data(), here.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  // Of one form and in UTC, so the order of the text is that of time.
  if (end > here.data()) return {};
  return fail(ExitCode::kUsage, std::string("the SAS in ") + variable + " expired at " + end +
                                    "Z (now " + here.data() + "Z): make a new one");
}

}  // namespace stage_model::spank
