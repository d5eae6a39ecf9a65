// A model's URL as the user typed it, checked as far as it can be without asking anyone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stage_model/result.h"

namespace stage_model {

// `allowed`: the site's schemes. Errors: kUsage; the message never holds a signature.
Status check_url(std::string_view url, const std::vector<std::string>& allowed);

std::string url_scheme(std::string_view url);  // "" where there is none

// The last part of the path, made fit for a directory name: [A-Za-z0-9._-], at most 64 bytes, never
// hidden, "model" where nothing is left.
std::string url_last_part(std::string_view url);

// The URL without query and password: for messages.
std::string url_for_message(std::string_view url);

}  // namespace stage_model
