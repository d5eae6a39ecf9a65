// Which identity speaks for us to an Azure account. New kinds get a file of their own and a place
// in the order here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/auth/azure_login.h"
#include "engine/auth/identity.h"
#include "engine/base/variables.h"

namespace stage_model::auth {

// The first of these that is there and belongs to `account`:
//   1. `url_sas`: a signature in the URL itself (engine alone)
//   2. AZURE_STORAGE_CONNECTION_STRING
//   3. AZURE_STORAGE_SAS_TOKEN, with or without '?'
//   4. AZURE_STORAGE_KEY
//      (3 and 4: if AZURE_STORAGE_ACCOUNT is unset or is `account`: sending another account's
//      would show it to this one, and only look like a wrong key)
//      (2 and 4: where the account accepts no keys, a token by 5 takes the key's place)
//   5. tokens, by azure_login.h: a service principal's secret, workload identity, managed identity,
//      Azure CLI; if `surroundings` has a way to ask for them
//   6. anonymous, or right after 1 if AZURE_STORAGE_ANON is true; describe() then says what was
//      passed over and why
// A value that is there but broken is an error, never skipped. `passed_over`: for --whoami, what
// was looked for before. Errors: kSource.
Result<IdentityPtr> choose_azure(const std::string& account, std::string_view url_sas,
                                 const Variables& variables,
                                 const AzureSurroundings& surroundings = {},
                                 std::vector<std::string>* passed_over = nullptr);

}  // namespace stage_model::auth
