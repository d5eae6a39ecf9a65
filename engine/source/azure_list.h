// Azure's List Blobs answers. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "engine/http/headers.h"
#include "engine/source/entries.h"
#include "stage_model/result.h"

namespace stage_model::source {

// Names come out as bytes, decoded only where the page says that it encoded them. Snapshots,
// deleted blobs and old versions are left out. Errors: kSource (not such a page, bad numbers).
Result<Page> parse_azure_page(std::string_view xml);

// One blob by the headers of a HEAD. Errors: kSource (no size).
Result<Entry> parse_azure_headers(const std::string& name, const http::Headers& headers);

}  // namespace stage_model::source
