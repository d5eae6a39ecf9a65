// Azure's List Blobs answers. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/http/headers.h"
#include "engine/source/entries.h"
#include "stage_model/result.h"

namespace stage_model::source {

struct AzurePage {
  std::vector<Entry> entries;
  std::string next;  // NextMarker, opaque; "" on the last page
};

// Names come out as bytes, decoded only where the page says that it encoded them. Snapshots,
// deleted blobs and old versions are left out. Errors: kSource (not such a page, bad numbers).
Result<AzurePage> parse_azure_page(std::string_view xml);

// One blob by the headers of a HEAD. Errors: kSource (no size).
Result<Entry> parse_azure_headers(const std::string& name, const http::Headers& headers);

// <Code> of an error body; "" if there is none.
std::string parse_azure_error_code(std::string_view xml);

}  // namespace stage_model::source
