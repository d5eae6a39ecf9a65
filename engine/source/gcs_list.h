// What Google Cloud Storage answers in JSON. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "engine/source/entries.h"
#include "stage_model/result.h"

namespace stage_model::source {

// ETags are generations, which change with the bytes only. Errors: kSource.
Result<Page> parse_gcs_page(std::string_view json);

// {"error": {…}}; fields that are not there are "".
struct GcsError {
  std::string reason, message;
};
GcsError parse_gcs_error(std::string_view json);

}  // namespace stage_model::source
