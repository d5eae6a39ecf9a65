// What every store's dialect says of a refusal. Pure but for the clock; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "engine/http/dialect.h"

namespace stage_model::source {

// From the server, so bounded and plain before it goes into a message.
std::string plain(std::string_view text);

// The facts that support needs, behind the message: "HTTP 403 CODE, request id X, HOST at IP, as
// IDENTITY". `id_header` holds the server's number of the request, `id_name` what it is called.
std::string refusal_facts(const http::Failure& failure, const std::string& code,
                          const std::string& id_header, const std::string& id_name,
                          const std::string& identity);

// Signatures hold for 15 minutes: beyond that the clock, not the key, is wrong. Names the node and
// both times; "" if the clocks agree. `certain`: the server says that they do not.
std::string clock_advice(const http::Response& response, bool certain = false);

}  // namespace stage_model::source
