// Fills servers of tests: one request with a body. Only for tests.
#pragma once

#include <string>

#include "engine/http/request.h"

namespace stage_model::test {

// Sends it as it stands, without a proxy. Ends the test program with a message if the answer is not
// 2xx. The answer's body.
std::string upload(const http::Request& request, const std::string& body);

}  // namespace stage_model::test
