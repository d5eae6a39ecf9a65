// Azure's shared access signature: a query string that carries its own rights and times.
#pragma once

#include <optional>
#include <string_view>

#include "engine/auth/identity.h"

namespace stage_model::auth {

// What a SAS says of itself. Holds a secret (in `query`).
struct Sas {
  http::Query query;  // decoded, only the parameters of the signature
  std::optional<std::time_t> starts, expires;
  std::string permissions;  // sp; "" with a stored access policy (si)
  bool one_blob = false;    // sr=b: good for one blob, cannot list
};

// With or without a leading '?'. Errors: kSource for what cannot be a SAS (no sig, unreadable
// times); messages name the parameter, never the signature.
Result<Sas> parse_sas(std::string_view text);

// Is this query parameter part of a SAS? Others in a pasted URL are not ours to send.
bool is_sas_parameter(std::string_view name);

// Can it list and read blobs at `now`? Errors: kSource: "the SAS expired at …", "… lacks …".
Status check_sas(const Sas& sas, std::time_t now);

IdentityPtr azure_sas(Sas sas);

}  // namespace stage_model::auth
