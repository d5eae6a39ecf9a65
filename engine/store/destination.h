// The place a model goes to: DEST's parent by descriptor, and what stands at DEST now.
#pragma once

#include <string>

#include "engine/base/fd.h"
#include "stage_model/result.h"

namespace stage_model::store {

struct Destination {
  std::string path;    // absolute, no ".", "..", doubled or trailing slash
  std::string parent;  // for messages
  std::string name;    // last component
  Fd parent_dir;
};

// Text to path, no I/O. Errors: kUsage.
Result<Destination> parse_destination(const std::string& text);

// The same, and opens the parent; missing parts of it are created, 0755. Errors: kDestination.
Result<Destination> open_destination(const std::string& text);

// Opens DEST if it is there; an invalid Fd if it is not. Refuses what may not be replaced: a link,
// a file, another user's directory, a directory with foreign data. Errors: kDestination.
Result<Fd> open_existing(const Destination& destination);

}  // namespace stage_model::store
