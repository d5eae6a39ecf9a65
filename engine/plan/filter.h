// Which objects of a listing are wanted: --include, --exclude, --filelist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/types.h"
#include "stage_model/result.h"

namespace stage_model::plan {

struct Filter {
  // Globs against the whole relative name, where * also matches '/': "*.safetensors" finds them at
  // any depth, "original/*" everything below. None: all.
  std::vector<std::string> include;
  std::vector<std::string> exclude;  // wins over include
  // Exact relative names; empty: all. A name that the source does not have is an error (kSource).
  std::vector<std::string> names;
};

// Removes what is not wanted. Errors: kSource when nothing is left, or a listed name is missing.
Status apply_filter(const Filter& filter, Listing& listing);

// One name a line, as --save-filelist writes it; "\n", "\r" and "\\" in names are escaped.
std::string write_name_list(const Listing& listing);
Result<std::vector<std::string>> parse_name_list(std::string_view text);

}  // namespace stage_model::plan
