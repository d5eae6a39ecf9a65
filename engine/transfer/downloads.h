// What a rank gets into memory next, and how much at once: chunks that rank 0 granted it, from the
// source; and those that it holds and others lack, from its disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "engine/transfer/fetch_window.h"
#include "engine/transfer/options.h"

namespace stage_model::transfer {

class Downloads {
 public:
  // to_read: chunks of its disk that this rank is to send.
  Downloads(const SchedulerOptions& options, const std::vector<std::uint32_t>& to_read,
            bool downloads);

  // For how many more chunks to ask rank 0 now; they count as asked for. 0: none.
  std::uint32_t request();
  void granted(const std::vector<std::uint32_t>& chunks, std::uint32_t requested);

  struct Next {
    std::uint32_t chunk = 0;
    bool from_disk = false;
  };
  // What to start now that there is a buffer for it; it counts as started.
  std::optional<Next> next();
  // Whatever came of it. Seconds; bytes.
  void ended(bool from_disk, double began, double now, std::uint64_t bytes);

  // Nothing new is started.
  void drop();
  // All that this rank was granted has been started, and no more is to come.
  bool all_started() const { return no_more_ && requested_ == 0 && granted_.empty(); }
  // Chunks being fetched or read.
  std::size_t running() const { return running_; }

  // The staged schedule: reading waits for its second half.
  void hold_reads(bool hold) { hold_reads_ = hold; }
  void read_too(const std::vector<std::uint32_t>& chunks);  // what was downloaded, in order

 private:
  std::uint64_t chunk_size_;
  FetchWindow window_;       // of downloads
  FetchWindow read_window_;  // of what is read from disk, which is far faster
  std::deque<std::uint32_t> to_read_;
  std::deque<std::uint32_t> granted_;  // ours to download, not started
  std::size_t running_ = 0;
  std::uint32_t requested_ = 0;  // asked for, not answered
  bool no_more_;                 // rank 0 has no more work for us
  bool hold_reads_ = false;
};

}  // namespace stage_model::transfer
