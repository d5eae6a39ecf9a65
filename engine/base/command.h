// Runs a helper program with a deadline and takes what it prints.
#pragma once

#include <string>
#include <vector>

#include "stage_model/result.h"

namespace stage_model {

struct CommandEnd {
  std::string output;  // of stdout, at most 1 MiB
  bool late = false;   // it was killed at the deadline
  int status = 0;      // of waitpid

  bool succeeded() const;  // in time, with exit status 0
};

// `command`: the program, looked up in our PATH if there is no slash in it, and its arguments. No
// shell: nothing in them is ever interpreted. `environment`: all that it gets, "NAME=VALUE". It
// reads nothing, what it says on stderr is dropped, and it has a process group of its own, so that
// what it starts ends with it. Blocks for `seconds` at most; thread-safe. Errors: kStopped, one
// line without the program's name.
Result<CommandEnd> run_command(std::vector<std::string> command,
                               std::vector<std::string> environment, double seconds);

}  // namespace stage_model
