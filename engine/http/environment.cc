#include "engine/http/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "engine/base/variables.h"

namespace stage_model::http {
namespace {

constexpr std::array<const char*, 6> kCaFiles = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",                   // RHEL, Rocky, Fedora
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // newer RHEL, Azure Linux
    "/etc/ssl/ca-bundle.pem",                             // SUSE
    "/etc/pki/tls/cacert.pem",
    "/etc/ssl/cert.pem",
};

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return text;
}

// "*.example.com", as the tools written in Go take it, is ".example.com" to libcurl.
std::string without_stars(std::string_view list) {
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool begins = out.empty() || out.back() == ',' || out.back() == ' ';
    if (begins && list.substr(i).starts_with("*.")) continue;
    out += list[i];
  }
  return out;
}

}  // namespace

Environment read_environment(const Variables& variables) {
  const auto exact = [&variables](const std::string& name) -> std::string {
    const auto found = variables.find(name);
    if (found != variables.end()) return found->second;
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? "" : value;
  };
  const auto either = [&exact](const std::string& name) {
    const std::string value = exact(name);
    return value.empty() ? exact(upper(name)) : value;
  };

  Environment out;
  out.ca_file = exact("SSL_CERT_FILE");
  if (out.ca_file.empty()) out.ca_file = exact("CURL_CA_BUNDLE");
  for (const char* path : kCaFiles) {
    if (!out.ca_file.empty()) break;
    if (access(path, R_OK) == 0) out.ca_file = path;
  }
  const std::string all = either("all_proxy");
  out.http_proxy = either("http_proxy");
  if (out.http_proxy.empty()) out.http_proxy = all;
  out.https_proxy = either("https_proxy");
  if (out.https_proxy.empty()) out.https_proxy = all;
  out.no_proxy = without_stars(either("no_proxy"));
  return out;
}

std::string host_of_proxy(std::string proxy) {
  if (const auto at = proxy.find("://"); at != std::string::npos) proxy.erase(0, at + 3);
  if (const auto at = proxy.rfind('@'); at != std::string::npos) proxy.erase(0, at + 1);
  return proxy.substr(0, proxy.find('/'));
}

std::string proxy_answer(long status) {
  if (status == 407) return "it wants another user and password (HTTP 407)";
  return "it answers HTTP " + std::to_string(status);
}

bool proxy_refuses(long status) {
  return status >= 400 && status < 500 && status != 408 && status != 429;
}

}  // namespace stage_model::http
