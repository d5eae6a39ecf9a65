// Nothing secret leaves in a message. Pure function; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace stage_model::http {

// For text that may hold URLs or headers from elsewhere (libcurl's messages, server bodies): blanks
// the values of query parameters that carry a proof (sig, X-Amz-Signature, …token…), of
// Authorization headers, and passwords in URLs; newlines and control bytes become spaces.
std::string redact(std::string_view text);

}  // namespace stage_model::http
