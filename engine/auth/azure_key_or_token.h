// An account's key, and a token for accounts that do not accept keys.
#pragma once

#include "engine/auth/identity.h"

namespace stage_model::auth {

// Signs with `key` until the store says that the account accepts none (renew() of generation 0);
// then asks `token` (not anonymous) once, and signs with that if there is one. What was a handover
// of `token` is one of this identity, and the other way round. `token` may be the reason why there
// can be none, which describe() then gives.
IdentityPtr azure_key_or_token(IdentityPtr key, Result<IdentityPtr> token);

}  // namespace stage_model::auth
