// Open descriptors of the model's files, the most recently used few: 100,000 files must not need
// 100,000 descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "engine/base/fd.h"
#include "engine/base/mutex.h"

namespace stage_model::store {

// Thread-safe.
class FileTable {
 public:
  // Opens an object's file; invalid on error (errno). Called without the table's lock.
  using Open = std::function<Fd(std::uint32_t object, bool direct)>;

  FileTable(Open open, std::size_t limit) : open_(std::move(open)), limit_(limit) {}

  // The descriptor stays valid as long as the pointer is held. Null: errno says why.
  std::shared_ptr<Fd> get(std::uint32_t object, bool direct);
  void clear();

  // A share of the descriptors that this process may open.
  static std::size_t default_limit();

 private:
  struct Entry {
    std::uint64_t key;
    std::shared_ptr<Fd> fd;
  };
  Open open_;
  std::size_t limit_;
  Mutex mutex_;
  std::list<Entry> recent_ STAGE_GUARDED_BY(mutex_);  // most recently used first
  std::unordered_map<std::uint64_t, std::list<Entry>::iterator> entries_ STAGE_GUARDED_BY(mutex_);
};

}  // namespace stage_model::store
