// The system calls that tests replace: a quota, a lying lock and a disk that fills up cannot be had
// on every machine.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace stage_model::store {

struct Seams {
  std::function<ssize_t(int, const void*, std::size_t, off_t)> pwrite;  // default: pwrite(2)
  std::function<int(int)> lock;  // default: flock(fd, LOCK_EX | LOCK_NB)
  // Default: renameat2(2). Old parent and new parent are the same directory.
  std::function<int(int, const char*, const char*, unsigned)> rename;
  std::function<int(int, const char*, int, const char*)> link;  // default: linkat(2) without flags
};

const Seams& system_seams();

}  // namespace stage_model::store
