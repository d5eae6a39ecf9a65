#include "engine/store/file_table.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

namespace stage_model::store {

std::shared_ptr<Fd> FileTable::get(std::uint32_t object, bool direct) {
  const std::uint64_t key = std::uint64_t{object} << 1 | (direct ? 1 : 0);
  {
    const MutexLock lock(mutex_);
    if (const auto it = entries_.find(key); it != entries_.end()) {
      recent_.splice(recent_.begin(), recent_, it->second);
      return it->second->fd;
    }
  }
  // Two threads may open the same file at once; the later one's descriptor goes again.
  auto fd = std::make_shared<Fd>(open_(object, direct));
  if (!*fd) return nullptr;
  const MutexLock lock(mutex_);
  if (const auto it = entries_.find(key); it != entries_.end()) return it->second->fd;
  recent_.push_front({key, fd});
  entries_[key] = recent_.begin();
  if (recent_.size() > limit_) {
    entries_.erase(recent_.back().key);
    recent_.pop_back();
  }
  return fd;
}

void FileTable::clear() {
  const MutexLock lock(mutex_);
  entries_.clear();
  recent_.clear();
}

std::size_t FileTable::default_limit() {
  struct rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 64;
  return std::clamp<std::size_t>(limit.rlim_cur / 8, 16, 1024);
}

}  // namespace stage_model::store
