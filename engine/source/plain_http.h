// May a URL be asked in clear? Pure; thread-safe.
#pragma once

#include "engine/base/variables.h"
#include "engine/http/url.h"
#include "engine/source/source.h"

namespace stage_model::source {

// https: always. http: to this machine; without a secret, also to private addresses (RFC 1918, link
// local, fc00::/7), as sites' own mirrors have; STAGE_ALLOW_HTTP=1 allows it to anywhere.
// `secret`: a token goes along. Errors: kUsage, with what to do.
Status check_plain_http(const http::Url& url, bool secret, const Variables& variables);

}  // namespace stage_model::source
