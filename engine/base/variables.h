// Environment variables as a value, so that what depends on them can be tested without setenv.
#pragma once

#include <map>
#include <string>

namespace stage_model {

using Variables = std::map<std::string, std::string>;

// "" where it is not set: an empty variable means the same everywhere here.
std::string variable(const Variables& variables, const std::string& name);

}  // namespace stage_model
