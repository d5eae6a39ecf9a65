#include "engine/transfer/downloads.h"

#include <algorithm>

namespace stage_model::transfer {

Downloads::Downloads(const SchedulerOptions& options, const std::vector<std::uint32_t>& to_read,
                     bool downloads)
    : chunk_size_(options.chunk_size),
      window_(std::min(options.downloading, options.download_buffers)),
      read_window_(options.download_buffers),
      to_read_(to_read.begin(), to_read.end()),
      no_more_(!downloads) {}

std::uint32_t Downloads::request() {
  if (no_more_) return 0;
  const std::size_t have = running_ + granted_.size() + requested_;
  const std::size_t room = window_.chunks(chunk_size_);
  if (have >= room) return 0;
  const auto more = static_cast<std::uint32_t>(room - have);
  requested_ += more;
  return more;
}

void Downloads::granted(const std::vector<std::uint32_t>& chunks, std::uint32_t requested) {
  requested_ -= requested;
  granted_.insert(granted_.end(), chunks.begin(), chunks.end());
  if (chunks.size() < requested) no_more_ = true;
}

std::optional<Downloads::Next> Downloads::next() {
  const bool from_disk = !to_read_.empty() && !hold_reads_;
  std::deque<std::uint32_t>& from = from_disk ? to_read_ : granted_;
  const FetchWindow& window = from_disk ? read_window_ : window_;
  if (from.empty() || running_ >= window.chunks(chunk_size_)) return std::nullopt;
  const Next next{from.front(), from_disk};
  from.pop_front();
  ++running_;
  return next;
}

void Downloads::ended(bool from_disk, double began, double now, std::uint64_t bytes) {
  --running_;
  (from_disk ? read_window_ : window_).fetched(began, now, bytes);
}

void Downloads::drop() {
  granted_.clear();
  to_read_.clear();
}

void Downloads::read_too(const std::vector<std::uint32_t>& chunks) {
  to_read_.insert(to_read_.end(), chunks.begin(), chunks.end());
  std::sort(to_read_.begin(), to_read_.end());
}

}  // namespace stage_model::transfer
