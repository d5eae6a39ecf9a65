#include "engine/source/plain_http.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <string>

namespace stage_model::source {
namespace {

enum class Reach { kThisMachine, kPrivate, kAnywhere };

Reach reach_of_4(std::uint32_t address) {
  const std::uint32_t a = address >> 24;
  const std::uint32_t b = address >> 16 & 255;
  if (a == 127) return Reach::kThisMachine;
  const bool ours = a == 10 || (a == 172 && b >= 16 && b < 32) || (a == 192 && b == 168) ||
                    (a == 169 && b == 254);
  return ours ? Reach::kPrivate : Reach::kAnywhere;
}

// Of names only localhost is known without asking: what the others resolve to may change.
Reach reach_of(const std::string& host) {
  if (host == "localhost") return Reach::kThisMachine;
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return reach_of_4(ntohl(four.s_addr));
  in6_addr six{};
  if (host.size() > 2 && inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six) == 1) {
    if (IN6_IS_ADDR_LOOPBACK(&six)) return Reach::kThisMachine;
    if (IN6_IS_ADDR_LINKLOCAL(&six) || (six.s6_addr[0] & 0xfe) == 0xfc) return Reach::kPrivate;
  }
  return Reach::kAnywhere;
}

}  // namespace

Status check_plain_http(const http::Url& url, bool secret, const Variables& variables) {
  if (url.scheme != "http") return {};
  const auto opt_in = variables.find("STAGE_ALLOW_HTTP");
  if (opt_in != variables.end() && opt_in->second == "1") return {};
  const Reach reach = reach_of(url.host);
  if (reach == Reach::kThisMachine || (reach == Reach::kPrivate && !secret)) return {};
  return fail(ExitCode::kUsage,
              fmt::format("http:// to {} is in clear{}: use https://, or set STAGE_ALLOW_HTTP=1 if "
                          "the network between is trusted",
                          url.host, secret ? ", and would show the token" : ""));
}

}  // namespace stage_model::source
