// What S3 answers in XML. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "engine/source/entries.h"
#include "stage_model/result.h"

namespace stage_model::source {

// A page of ListObjectsV2. Names are decoded once, and only where the answer says that they are
// encoded. Archived is what is so by its class, unless the list says that it is restored. Errors:
// kSource.
Result<Page> parse_s3_page(std::string_view xml);

// An ETag that may be the MD5 of the bytes: 32 hex digits and nothing else. Whether it is one
// depends on the encryption too. "" if not; else 16 bytes.
std::string md5_of_etag(std::string_view etag);

}  // namespace stage_model::source
