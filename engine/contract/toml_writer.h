// The little TOML that request and record consist of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stage_model {

// A basic string with its quotes. Bytes that are not UTF-8, which TOML cannot express, become "?".
std::string toml_text(std::string_view text);

// ["a", "b"]
std::string toml_list(const std::vector<std::string>& items);

}  // namespace stage_model
