#include "engine/source/refusal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <ctime>

#include "engine/contract/iso_time.h"
#include "engine/http/date.h"

namespace stage_model::source {
namespace {

std::string this_node() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this node";
}

}  // namespace

std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 64)) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_' || c == '.';
    if (fine) out += c;
  }
  return out;
}

std::string refusal_facts(const http::Failure& failure, const std::string& code,
                          const std::string& id_header, const std::string& id_name,
                          const std::string& identity) {
  std::string out = fmt::format("HTTP {}", failure.response.status);
  if (!code.empty()) out += " " + code;
  const std::string id = plain(http::header(failure.response.headers, id_header));
  if (!id.empty()) out += ", " + id_name + " " + id;
  out += ", " + failure.host;
  if (!failure.ip.empty() && failure.host.find(failure.ip) == std::string::npos) {
    out += " at " + failure.ip;
  }
  return out + ", as " + identity;
}

std::string clock_advice(const http::Response& response, bool certain) {
  constexpr double kSkew = 600;
  const auto server = http::parse_http_date(http::header(response.headers, "date"));
  const std::time_t here = std::time(nullptr);
  const bool skewed = server && std::abs(std::difftime(*server, here)) >= kSkew;
  if (!skewed && !certain) return {};
  return fmt::format("the clock of node {} is wrong: here {}, at the server {}", this_node(),
                     format_iso_time(here), server ? format_iso_time(*server) : "another time");
}

}  // namespace stage_model::source
