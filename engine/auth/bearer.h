// A token that a user made and that holds until he takes it back.
#pragma once

#include <string>
#include <vector>

#include "engine/auth/identity.h"

namespace stage_model::auth {

// `token`: "" for none, then nothing is added to requests. `what`: of it, for messages
// ("HF_TOKEN"). Handed over to the other ranks, whose own home or environment may lack it.
// `passed_over`: what was looked for before it.
IdentityPtr bearer(std::string token, std::string what, std::vector<std::string> passed_over = {});

}  // namespace stage_model::auth
