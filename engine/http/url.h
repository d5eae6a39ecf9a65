// URLs as bytes: encoded exactly once, never normalised. The lowest layer of everything that talks
// HTTP. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stage_model/result.h"

namespace stage_model::http {

// Decoded name/value pairs, in order.
using Query = std::vector<std::pair<std::string, std::string>>;

// Everything but RFC 3986's unreserved characters becomes %XX; encode_path also keeps '/'.
std::string encode(std::string_view text);
std::string encode_path(std::string_view text);

// Reverses %XX and nothing else ('+' stays a plus). Errors: kUsage for a broken escape.
Result<std::string> decode(std::string_view text);

// "a=b&c=d", with or without a leading '?'. Errors: kUsage for a broken escape.
Result<Query> parse_query(std::string_view text);
std::string format_query(const Query& query);  // without '?'

struct Url {
  std::string scheme;  // lower case
  std::string host;    // lower case, without port; IPv6 in its brackets
  std::string port;    // "" if not given
  std::string path;    // as written, still encoded; "" or starting with '/'
  std::string query;   // as written, without '?'

  std::string origin() const;  // "https://host[:port]"
};

// http and https only. A '#' is an ordinary character of the path: object names hold it, and
// nothing here has fragments. User names in the authority are refused. Errors: kUsage; messages
// never hold the query.
Result<Url> parse_url(std::string_view text);

}  // namespace stage_model::http
