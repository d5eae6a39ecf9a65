// The broadcasts as this rank sees them: what it may announce, the entries of rank 0's list that
// wait for their turn, and what is under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "engine/transfer/sequencer.h"

namespace stage_model::transfer {

class Broadcasts {
 public:
  // ---- chunks that this rank is the root of

  void ready(std::uint32_t chunk) { ready_.push_back(chunk); }
  std::size_t ready_count() const { return ready_.size(); }  // not announced yet
  // A root with many broadcasts under way sends them side by side: none ends until all do, and the
  // last ranks of the chain get their first bytes late. So few at a time; the others wait in
  // memory.
  bool may_announce(std::size_t at_most) const { return !ready_.empty() && announced_ < at_most; }
  std::uint32_t announce();
  std::size_t announced() const { return announced_; }  // their broadcasts not done
  void drop_ready() { ready_.clear(); }

  // ---- the list

  void append(const Entry& entry) { order_.push_back(entry); }
  bool waiting() const { return !order_.empty(); }
  const Entry& next() const { return order_.front(); }
  bool lists(std::uint32_t chunk) const;  // among those that wait
  void skip();                            // next() is none of this rank's business
  std::uint64_t post();                   // next() begins; its number in the list
  void done(bool ours);

  std::size_t in_flight() const { return in_flight_; }
  // Entries that need nothing more than to end: posted or skipped.
  std::size_t passed() const { return passed_; }

 private:
  std::deque<std::uint32_t> ready_;
  std::size_t announced_ = 0;
  std::deque<Entry> order_;
  std::size_t in_flight_ = 0;
  std::size_t passed_ = 0;
};

}  // namespace stage_model::transfer
