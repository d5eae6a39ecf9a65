// What S3 answers in XML. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/source/entries.h"
#include "stage_model/result.h"

namespace stage_model::source {

struct S3Entry {
  Entry entry;                   // archived: by its class, unless the list says it is restored
  bool checksum_stated = false;  // of the whole object, of a kind that we can compute
};

struct S3Page {
  std::vector<S3Entry> entries;
  std::string next;  // continuation token, opaque; "" on the last page
};

// A page of ListObjectsV2. Names are decoded once, and only where the answer says that they are
// encoded. Errors: kSource.
Result<S3Page> parse_s3_page(std::string_view xml);

// <Error>; fields that are not there are "".
struct S3Error {
  std::string code, message, region, request_id;
};
S3Error parse_s3_error(std::string_view xml);

// An ETag that may be the MD5 of the bytes: 32 hex digits and nothing else. Whether it is one
// depends on the encryption too. "" if not; else 16 bytes.
std::string md5_of_etag(std::string_view etag);

}  // namespace stage_model::source
