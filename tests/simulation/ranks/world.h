// N real schedulers (engine/transfer/scheduler.h), each with a virtual driver: what the schedulers
// want done is done by virtual sources, disks and fabric, and each step is held against the rules
// (../README.md, "Ranks"). Throws Violation where one is broken.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/transfer/scheduler.h"
#include "tests/simulation/base/runner.h"
#include "tests/simulation/base/virtual_time.h"
#include "tests/simulation/ranks/network.h"
#include "tests/simulation/ranks/scenario.h"
#include "tests/simulation/ranks/source.h"

namespace stage_model::simulation {

class World {
 public:
  World(const Scenario& scenario, Random random, Trace& trace);

  // Until all ranks have ended.
  Ran run();

  double seconds() const { return time_.seconds(); }
  std::uint64_t messages() const { return network_.messages(); }
  std::uint64_t taken_over() const { return ranks_[0].scheduler->taken_over(); }

 private:
  // What is in a buffer, and who uses it.
  struct Memory {
    std::uint32_t chunk = 0;
    bool filling = false;  // nothing else may use it
    bool whole = false;    // the chunk is in it
    bool hashed = false;
    int readers = 0;  // hashing, writing, sending
    std::uint64_t check = 0;
  };
  struct Rank {
    std::unique_ptr<transfer::Scheduler> scheduler;
    std::array<std::vector<Memory>, 2> memory;  // by Pool
    std::vector<transfer::Event> inbox;
    bool round_due = false;
    Time tick_due = -1;
    plan::Bits written, writing;
    std::uint64_t fetched_bytes = 0, written_bytes = 0, received_bytes = 0, answers = 0;
    // Chunk → where it comes into, or goes out from.
    std::map<std::uint32_t, transfer::Buffer> fetching, reading, broadcasting;
    std::vector<Time> writer_free;
    Time hash_free = 0;
    bool fetching_ended = false, source_hangs = false, left = false, told_no_more = false;
    bool failed_told = false;
  };

  void tell(std::uint32_t rank, transfer::Event event);
  void round(std::uint32_t rank);
  void take_in(std::uint32_t rank, transfer::Event event);
  void decide(std::uint32_t rank);
  void want_tick(std::uint32_t rank);
  void tick(std::uint32_t rank);

  void carry_out(std::uint32_t rank, const transfer::action::Fetch& fetch);
  void carry_out(std::uint32_t rank, const transfer::action::Read& read);
  void carry_out(std::uint32_t rank, const transfer::action::Hash& hash);
  void carry_out(std::uint32_t rank, const transfer::action::Write& write);
  void carry_out(std::uint32_t rank, const transfer::action::Broadcast& broadcast);
  void carry_out(std::uint32_t rank, const transfer::action::Send& send);
  void carry_out(std::uint32_t rank, const transfer::action::SendToAll& send);
  void carry_out(std::uint32_t rank, const transfer::action::EndFetching& end);
  void carry_out(std::uint32_t, const transfer::action::Finishing&) {}
  void carry_out(std::uint32_t rank, const transfer::action::Leave& leave);
  void carry_out(std::uint32_t rank, const transfer::action::GiveUp& give_up);

  void on_message(std::uint32_t to, std::uint32_t from, const std::string& bytes);
  void on_broadcast(std::uint32_t rank, std::uint32_t chunk);
  void on_fetched(std::uint32_t rank, std::uint32_t chunk, Status status);
  void in_memory(std::uint32_t rank, std::uint32_t chunk, const transfer::Buffer& buffer,
                 Status status);

  Memory& memory(std::uint32_t rank, const transfer::Buffer& buffer, std::uint32_t chunk,
                 const char* what);
  Memory& fill(std::uint32_t rank, const transfer::Buffer& buffer, std::uint32_t chunk,
               const char* what);
  void must_be_in_memory(const transfer::Entry& entry, const char* what);
  void check_sent(std::uint32_t from, const transfer::Message& message);
  const Fault* struck(Fault::Kind kind, std::uint32_t rank, std::uint64_t bytes);
  Error error_of(const Fault& fault) const;
  bool raised(const std::string& message) const;
  void check_standstill() const;
  Ran verdict();
  Ran ended(const std::string& how) const;
  bool done_by(const Rank& rank, std::uint32_t number, std::uint32_t chunk) const;
  Time disk_takes(std::uint32_t rank, std::uint64_t bytes);
  void write_ends(std::uint32_t rank, std::uint32_t chunk, transfer::Buffer buffer, Time when,
                  Status status);

  const Scenario& scenario_;
  Trace& trace_;
  VirtualTime time_;
  Random random_;
  Network network_;
  VirtualSource source_;
  std::vector<Rank> ranks_;
  std::vector<transfer::Action> actions_;
  Time round_delay_ = 0;
  std::size_t ticks_pending_ = 0;
  std::size_t left_ = 0;
  bool lost_ = false;
  std::vector<transfer::action::Broadcast> list_;  // as the first rank to post each posted it
  std::vector<bool> listed_;
  plan::Bits downloaded_, announced_;  // chunks, by anybody
  std::vector<Error> raised_;
  bool hangs_ = false;  // something does not come back
  Time last_struck_ = 0;
  Time all_asked_ = -1;  // every rank has been asked to stop
  std::size_t asked_ = 0;
  std::optional<Error> first_;  // failure that rank 0 heard of
  std::optional<transfer::action::GiveUp> given_up_;
};

}  // namespace stage_model::simulation
