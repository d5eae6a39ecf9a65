// auth::Exchange over libcurl: one small request, one attempt, on the caller's thread.
#pragma once

#include "engine/auth/exchange.h"
#include "engine/http/environment.h"

namespace stage_model::http {

auth::Exchange make_exchange(Environment environment);

}  // namespace stage_model::http
