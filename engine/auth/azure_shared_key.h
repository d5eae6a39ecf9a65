// Azure Storage's Shared Key: every request is signed with the account's key.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/auth/identity.h"

namespace stage_model::auth {

// The text that the key signs. `request` must hold its x-ms-date and x-ms-version headers already.
// Separate from the identity so that it can be held against Microsoft's examples.
std::string azure_string_to_sign(const http::Request& request, std::string_view account);

// `key` in base64, as Azure shows it. Errors: kSource when it is not base64.
Result<IdentityPtr> azure_shared_key(std::string account, std::string_view key);

}  // namespace stage_model::auth
