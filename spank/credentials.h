// Which variables of the submitting environment travel with the job: those that a source of the
// asked-for kinds can use, and those that the site added.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stage_model/request.h"
#include "stage_model/result.h"

namespace stage_model::spank {

// Names, sorted, without repetition.
std::vector<std::string> credential_names(const JobRequest& request,
                                          const std::vector<std::string>& extra);

using Credentials = std::vector<std::pair<std::string, std::string>>;  // NAME, VALUE

// Gathers those that are set and not empty. `lookup` returns null for a variable that is not set.
// Errors: kUsage for a value that cannot be one; the message holds only the name.
Result<Credentials> gather_credentials(
    const std::vector<std::string>& names,
    const std::function<const char*(const std::string&)>& lookup);

// As one text, for seal(). Errors: kUsage if it would be too long for an environment.
Result<std::string> pack_credentials(const Credentials& credentials);

// Back; only the wanted names are taken, whatever else the user put there, and checked again.
Result<Credentials> unpack_credentials(std::string_view packed,
                                       const std::vector<std::string>& wanted);

}  // namespace stage_model::spank
