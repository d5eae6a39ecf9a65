#include "engine/store/seams.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>

namespace stage_model::store {

const Seams& system_seams() {
  static const Seams seams{[](int fd, const void* data, std::size_t length, off_t offset) {
                             return ::pwrite(fd, data, length, offset);
                           },
                           [](int fd) { return ::flock(fd, LOCK_EX | LOCK_NB); },
                           [](int parent, const char* from, const char* to, unsigned flags) {
                             return ::renameat2(parent, from, parent, to, flags);
                           },
                           [](int from_dir, const char* from, int to_dir, const char* to) {
                             return ::linkat(from_dir, from, to_dir, to, 0);
                           }};
  return seams;
}

}  // namespace stage_model::store
