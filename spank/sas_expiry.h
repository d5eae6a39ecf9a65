// When an Azure shared access signature ends, by its own word: a job that waits in the queue with a
// dead one would only fail later.
#pragma once

#include <ctime>
#include <string_view>

#include "stage_model/result.h"

namespace stage_model::spank {

// Errors: kUsage if the token's `se=` lies before `now`; no part of the token is in the message but
// that time. Whatever cannot be read is left to the engine, which knows all the rules. `variable`
// is where it came from, for the message.
Status check_sas_expiry(std::string_view token, std::time_t now, const char* variable);

// The signature that models of `url` would be read with by this connection string; "" if it has
// none, has a key, or is for another account than the URL's.
std::string_view sas_of_connection_string(std::string_view text, std::string_view url);

}  // namespace stage_model::spank
