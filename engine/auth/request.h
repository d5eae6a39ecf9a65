// A request before and after it is signed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/auth/url.h"

namespace stage_model::auth {

struct Request {
  std::string method = "GET";
  std::string origin;  // "https://host[:port]"
  std::string path;    // encoded once, sent as it stands
  Query query;         // decoded; encoded once when it is sent
  std::vector<std::pair<std::string, std::string>> headers;

  std::string url() const {
    std::string out = origin + path;
    if (!query.empty()) out.append("?").append(format_query(query));
    return out;
  }
};

}  // namespace stage_model::auth
