// From what a store lists to plan's Listing: which entries are files, which are directories, which
// cannot be told apart. The same for every store with a flat name space. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/types.h"
#include "stage_model/result.h"

namespace stage_model::source {

struct Entry {
  std::string key;  // full name; bytes
  std::uint64_t size = 0;
  std::string etag;
  plan::StoreHash hash;
  bool directory = false;      // the store says so (hdi_isfolder, ResourceType)
  std::string unusable;        // why it cannot be staged, for plan's Object; mostly ""
  bool head_has_hash = false;  // S3: a HEAD states one of all bytes, of a kind that we compute
  bool archived = false;       // cannot be read without being brought back first
};

// A part of a list.
struct Page {
  std::vector<Entry> entries;
  std::string next;  // where the list goes on, opaque; "" on the last page
};

// Entries below `prefix` ("" or with its slash at the end); names lose the prefix.
//  - Markers become directories: what the store calls one, a name that ends in '/', and an empty
//    object whose name others continue with '/'. An empty object without any of that is a file.
//  - Refused at once, naming the object: an entry outside the prefix or listed twice, and a listing
//    without any file.
//  - Left to plan/names.h, for filters may exclude them: what is unusable (archived, a marker that
//    holds bytes, no size), and a non-empty object that is a directory too.
// `source` names the URL in messages. Errors: kSource.
Result<plan::Listing> make_listing(std::vector<Entry> entries, const std::string& prefix,
                                   const std::string& source);

// One object instead of a prefix: named by the last part of its key.
Result<plan::Listing> make_single(Entry entry, const std::string& source);

}  // namespace stage_model::source
