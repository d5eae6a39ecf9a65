// Small messages beside the data: asks and announcements to rank 0, grants and the sequencer's
// entries from it. Entries go down a tree, so that rank 0 does not send one message per rank.
// Main thread only. Never blocks.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <variant>
#include <vector>

#include "engine/mpi/fabric.h"
#include "engine/mpi/sequencer.h"

namespace stage_model::mpi {

struct Ask {  // a downloader to rank 0
  std::uint32_t want = 0;
};
struct Grant {  // the answer; fewer chunks than asked for: there are no more
  std::vector<std::uint32_t> chunks;
  std::uint32_t asked = 0;
};
struct Ready {  // an owner to rank 0
  Entry entry;
};
struct Failed {  // a rank that cannot go on, to rank 0
  Cause cause;
};
struct Entries {  // rank 0 to all, down the tree
  std::vector<Entry> entries;
};
struct Stop {  // rank 0 to all, down the tree: no entry follows
  Cause cause;
};
struct Downloaded {};  // staged schedule: a rank has its whole shard on disk, to rank 0
struct Go {};          // staged schedule: all have, rank 0 to all, down the tree
// A source still gives a rank something, though no chunk is whole yet: to rank 0, and down the
// tree.
struct Alive {};
using Message = std::variant<Ask, Grant, Ready, Failed, Entries, Stop, Downloaded, Go, Alive>;

std::string encode(const Message& message);
// False for bytes that encode() did not make.
bool decode(std::string_view bytes, Message* message);

class Control {
 public:
  explicit Control(const Fabric& fabric);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  void send(int to, const Message& message);
  // Rank 0: to every other rank.
  void send_down(const Message& message);
  // Receives what has come; forwards what goes down the tree before handing it over.
  bool poll(const std::function<void(int from, Message message)>& handle);
  bool sent() const { return sends_.empty(); }

  std::uint64_t messages_sent() const { return messages_sent_; }

 private:
  static constexpr int kFanOut = 16;
  struct Send {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void post(int to, std::string bytes);
  void forward(const std::string& bytes);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_;
  int size_;
  std::list<Send> sends_;
  std::uint64_t messages_sent_ = 0;
};

}  // namespace stage_model::mpi
