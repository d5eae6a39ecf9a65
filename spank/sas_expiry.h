// When an Azure shared access signature ends, by its own word: a job that waits in the queue with a
// dead one would only fail later.
#pragma once

#include <ctime>
#include <string_view>

#include "stage_model/result.h"

namespace stage_model::spank {

// Errors: kUsage if the token's `se=` lies before `now`; no part of the token is in the message but
// that time. Whatever cannot be read is left to the engine, which knows all the rules.
Status check_sas_expiry(std::string_view token, std::time_t now);

}  // namespace stage_model::spank
