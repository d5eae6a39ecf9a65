// Who we are to Google Cloud: a key file, the metadata server's service account, or nobody.
#pragma once

#include <string>

#include "engine/auth/credential_cache.h"
#include "engine/auth/identity.h"
#include "engine/base/variables.h"
#include "engine/http/exchange.h"

namespace stage_model::auth {

// GOOGLE_APPLICATION_CREDENTIALS; the file of "gcloud auth application-default login"; the metadata
// server (GCE_METADATA_HOST); nobody. Asks nobody yet. Errors: kSource for what is there but cannot
// work.
Result<IdentityPtr> choose_google(const Variables& variables, http::Exchange exchange);

// {"access_token": …, "expires_in": seconds}. Errors: kSource.
Result<Credential> parse_google_token(const std::string& json, std::time_t now);

// The three parts of a JWT for a service account, signed with its RSA key (PEM). Errors: kSource
// for a key that is none.
Result<std::string> google_jwt(const std::string& email, const std::string& key_id,
                               const std::string& private_key, const std::string& audience,
                               std::time_t now);

}  // namespace stage_model::auth
