// Threads that write extents to the disk: positional, O_DIRECT where it works, and tell the
// journal.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/store/file_table.h"
#include "engine/store/seams.h"
#include "engine/store/store.h"

namespace stage_model::store {

class WriterPool {
 public:
  struct Options {
    unsigned threads = 4;
    Seams seams;
    // After an extent is on disk: the journal. Any thread.
    std::function<Status(const Write&)> written;
    // Turns an errno into the message for this object. Any thread.
    std::function<Error(std::uint32_t object, int error)> describe;
  };

  // `direct` is shared: false as soon as the file system has refused O_DIRECT once.
  WriterPool(FileTable* files, std::atomic<bool>* direct, Options options);
  ~WriterPool();  // as stop()

  void submit(Write write);  // never blocks; after stop() it ends at once with kStopped
  // Writes that run are finished, the others end with kStopped. No callback runs afterwards.
  void stop();

  std::uint64_t bytes_written() const { return bytes_; }

 private:
  // What one thread has written through the page cache and not yet waited for.
  struct Dirty {
    struct Range {
      std::uint32_t object;
      std::uint64_t offset, length;
    };
    std::vector<Range> ranges;
    std::uint64_t bytes = 0;
  };

  void run();
  int write_all(const Write& write, Dirty* dirty);
  int write_direct(const Write& write, std::uint64_t length);                // whole blocks
  int write_buffered(const Write& write, std::uint64_t done, Dirty* dirty);  // what is left
  int flush(Dirty* dirty);

  FileTable* files_;
  std::atomic<bool>* direct_;
  Options options_;
  std::atomic<std::uint64_t> bytes_{0};
  Mutex mutex_;
  Condition wake_;
  std::deque<Write> queue_ STAGE_GUARDED_BY(mutex_);
  bool stopped_ STAGE_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace stage_model::store
