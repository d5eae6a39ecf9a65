// Errors are values: Result<T> is either a T or an Error that a person can act on.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "stage_model/exit_code.h"

namespace stage_model {

// One line for a human: what failed, for which object or path, what to do. No secrets, no newline.
// The node is added once, by whoever passes the error between nodes.
struct Error {
  ExitCode code = ExitCode::kUsage;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// The first cause of a failure that several nodes agree upon.
struct Cause {
  Error error;
  std::string node;
};

inline tl::unexpected<Error> fail(ExitCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace stage_model
