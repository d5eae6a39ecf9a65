// Who owns a temporary directory, and is that process still there? Not by locks alone: flock lies
// on some network file systems and dies with nobody on others (leftovers.cc asks it where it does
// not).
#pragma once

#include <cstdint>
#include <string>

namespace stage_model::store {

struct Process {
  std::uint64_t pid = 0;
  std::uint64_t started = 0;  // clock ticks after boot; 0: unknown
  std::string boot;           // the kernel's boot id
  std::string namespaces;     // pid and time namespace: a pid means something only there
};

Process this_process();

enum class Life { kAlive, kDead, kUnknown };

// `local`: the directory lies on a file system of this machine alone, so that another boot id means
// an earlier boot and not another machine.
Life life_of(const Process& process, bool local);

// By type: true for what one machine alone mounts (ext4, xfs, btrfs, tmpfs, …).
bool local_file_system(int fd);

}  // namespace stage_model::store
