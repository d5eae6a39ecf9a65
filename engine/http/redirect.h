// Where a redirect leads. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "engine/http/request.h"
#include "stage_model/result.h"

namespace stage_model::http {

struct Location {
  std::string origin;  // "https://host[:port]", without a default port
  std::string target;  // path and query, encoded, sent as it stands
  std::string url() const { return origin + target; }
  bool operator==(const Location&) const = default;
};

Location location_of(const Request& request);

// 301, 302, 303, 307, 308.
bool is_redirect(int status);

// `location` as a server wrote it: absolute or relative to `from`; a fragment is dropped, dots in
// relative ones are resolved. Refused: what is no http or https URL, and from https to http.
// Errors: kSource; messages hold no query.
Result<Location> follow(const Location& from, std::string_view location);

}  // namespace stage_model::http
