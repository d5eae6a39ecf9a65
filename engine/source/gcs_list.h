// What Google Cloud Storage answers in JSON. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/source/entries.h"
#include "stage_model/result.h"

namespace stage_model::source {

struct GcsPage {
  std::vector<Entry> entries;  // etag: the generation, which changes with the bytes only
  std::string next;            // page token, opaque; "" on the last page
};

// Errors: kSource.
Result<GcsPage> parse_gcs_page(std::string_view json);

// {"error": {…}}; fields that are not there are "".
struct GcsError {
  std::string reason, message;
};
GcsError parse_gcs_error(std::string_view json);

}  // namespace stage_model::source
