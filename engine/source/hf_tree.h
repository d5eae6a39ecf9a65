// What the hub's API answers. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/source/entries.h"
#include "stage_model/result.h"

namespace stage_model::source {

// The commit ("sha") in an answer about a revision: lower-case hex. Errors: kSource.
Result<std::string> parse_hf_commit(std::string_view json);
bool is_commit(std::string_view text);

// A page of a tree. Files in LFS have their sha256, the others git's sha1 of a blob; either stands
// for the ETag too. Directories are left out: git has no empty ones. Errors: kSource.
Result<std::vector<Entry>> parse_hf_tree(std::string_view json);

// The address after rel="next" in a Link header; "" if there is none.
std::string next_link(std::string_view link);

}  // namespace stage_model::source
