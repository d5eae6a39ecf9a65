// What the surroundings say about reaching the network: CA bundle and proxies.
#pragma once

#include <string>

#include "engine/base/variables.h"

namespace stage_model::http {

struct Environment {
  std::string ca_file;  // "" for libcurl's own
  std::string http_proxy, https_proxy, no_proxy;
  std::string proxy_for(const std::string& scheme) const {
    return scheme == "https" ? https_proxy : http_proxy;
  }
};

// A proxy's "host:port" for messages, without the user and password that its URL may hold.
std::string host_of_proxy(std::string proxy);
// What an answer of the proxy itself means: "it answers HTTP 502".
std::string proxy_answer(long status);
// Asked again it would say the same.
bool proxy_refuses(long status);

// Names are looked up in `variables` first, then in the process's environment, each in lower then
// upper case: SSL_CERT_FILE, CURL_CA_BUNDLE; http_proxy, https_proxy, all_proxy, no_proxy.
// Where no variable names a CA bundle, the places of the common distributions are looked at: a
// binary built on one of them runs in the images of another.
Environment read_environment(const Variables& variables);

}  // namespace stage_model::http
