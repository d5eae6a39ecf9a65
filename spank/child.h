// Child processes of prolog and epilog. A hook runs with fd 0 closed and, from Slurm 24.11, with
// pipes at 1 and 2 that slurmd reads to their end: no child may keep any of them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stage_model/result.h"

namespace stage_model::spank {

struct Ended {
  bool by_signal = false;
  int number = 0;                          // exit status or signal
  [[nodiscard]] std::string text() const;  // "exit status 3", "signal 9 (Killed)"
};

// Sole owner of a child: what is still running on destruction is killed and reaped.
class Child {
 public:
  Child() = default;
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // A program in a session of its own, as it must not be hit by the signals that end the hook's
  // process group half way; should the hook die, it gets SIGTERM. `log` takes stdout and stderr.
  static Result<Child> program(const std::string& path, const std::vector<std::string>& arguments,
                               const std::vector<std::string>& environment, const std::string& log);

  // A function in a process of its own; its result is the exit status. It dies with the hook.
  static Result<Child> function(const std::function<int()>& body);

  [[nodiscard]] bool running() const { return pid_ > 0; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  std::optional<Ended> poll();                // never blocks; a value once
  std::optional<Ended> wait(double seconds);  // a value once; none: the time is over
  void signal(int number) const;

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_ = 0;
};

// Runs `body` in a child as uid and gid, without supplementary groups, for at most `seconds`.
// Returns its result; a value below 0 if it did not come to an end.
int run_as(uid_t uid, gid_t gid, double seconds, const std::function<int()>& body);

}  // namespace stage_model::spank
