// Small messages beside the data, between any two ranks and from rank 0 to all. Those go down a
// tree, so that rank 0 does not send one for each rank. What they say is the caller's business.
// Main thread only. Never blocks.
#pragma once

#include <mpi.h>

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "engine/mpi/fabric.h"

namespace stage_model::mpi {

class Control {
 public:
  explicit Control(const Fabric& fabric);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  void send(int to, std::string bytes);
  // Rank 0: to every other rank. Two ranks hand over in the order of sending, also between send()
  // and send_to_all().
  void send_to_all(std::string bytes);
  // Receives what has come; forwards what goes down the tree before handing it over. `from` is then
  // whoever forwarded it.
  bool poll(const std::function<void(int from, std::string_view bytes)>& handle);
  bool sent() const { return sends_.empty(); }

 private:
  static constexpr int kFanOut = 16;
  // The tags. MPI keeps the order between two ranks also of messages with different ones, where any
  // is received.
  static constexpr int kToOne = 1, kToAll = 2;
  struct Send {
    std::shared_ptr<const std::string> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void post(int to, int tag, std::shared_ptr<const std::string> bytes);
  void forward(std::string bytes);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_;
  int size_;
  std::list<Send> sends_;
};

}  // namespace stage_model::mpi
