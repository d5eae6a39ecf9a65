// Files that only root (or whoever runs the tests) may have written.
#pragma once

#include <string>

#include "stage_model/result.h"

namespace stage_model {

struct TrustedText {
  bool found = false;  // false: the file does not exist
  std::string text;
};

// Reads a regular file of at most `limit` bytes that belongs to root or the caller and is writable
// by nobody else. `follow`: the last component may be a link (configuration files often are).
Result<TrustedText> read_trusted_file(const std::string& path, std::size_t limit, bool follow,
                                      ExitCode code);

}  // namespace stage_model
