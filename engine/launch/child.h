// fork and exec of the engine, as the user, with nothing of root's left in it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/launch/identity.h"
#include "stage_model/result.h"

namespace stage_model::launch {

struct ChildSpec {
  std::string program;                   // absolute path
  std::vector<std::string> arguments;    // without argv[0]
  std::vector<std::string> environment;  // "NAME=VALUE", complete but for the descriptors
  std::vector<std::string> credentials;  // "NAME=VALUE"
  Identity identity;
  bool switch_user = false;  // needs root; else the child keeps the caller's ids
};

// Raises this process' limit on locked memory, which the engine inherits: a child of slurmd has as
// little as systemd gives, and RDMA then fails. Returns a line for the log where it cannot be done.
std::string raise_memlock();

class Child {
 public:
  // Errors: kStopped (no process, no descriptors), kUsage (credentials of more than 64 KiB). An
  // exec that fails shows as a `failed` line on the status descriptor.
  static Result<std::unique_ptr<Child>> start(const ChildSpec& spec);

  // Kills what is left of the engine's process group.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  int exit_fd() const { return exit_fd_; }      // readable once the engine has ended
  int status_fd() const { return status_fd_; }  // non-blocking, like the next two
  int stdout_fd() const { return stdout_fd_; }
  int stderr_fd() const { return stderr_fd_; }

  void signal_group(int signal) const;
  // Ends its process group and reaps it. Requires exit_fd() readable. Returns the wait status.
  int reap();

 private:
  Child() = default;

  pid_t pid_ = -1;
  bool reaped_ = false;
  int exit_fd_ = -1;
  int status_fd_ = -1;
  int stdout_fd_ = -1;
  int stderr_fd_ = -1;
};

}  // namespace stage_model::launch
