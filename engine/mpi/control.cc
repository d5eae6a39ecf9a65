#include "engine/mpi/control.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace stage_model::mpi {

Control::Control(const Fabric& fabric) : rank_(fabric.rank()), size_(fabric.size()) {
  MPI_Comm_dup(fabric.world(), &comm_);
}

Control::~Control() { MPI_Comm_free(&comm_); }

void Control::post(int to, int tag, std::shared_ptr<const std::string> bytes) {
  Send& send = sends_.emplace_back();
  send.bytes = std::move(bytes);
  MPI_Isend(send.bytes->data(), static_cast<int>(send.bytes->size()), MPI_BYTE, to, tag, comm_,
            &send.request);
}

void Control::send(int to, std::string bytes) {
  post(to, kToOne, std::make_shared<const std::string>(std::move(bytes)));
}

void Control::forward(std::string bytes) {
  const auto shared = std::make_shared<const std::string>(std::move(bytes));
  const std::int64_t first = std::int64_t{rank_} * kFanOut + 1;
  for (std::int64_t child = first; child < std::min<std::int64_t>(first + kFanOut, size_);
       ++child) {
    post(static_cast<int>(child), kToAll, shared);
  }
}

void Control::send_to_all(std::string bytes) { forward(std::move(bytes)); }

bool Control::poll(const std::function<void(int, std::string_view)>& handle) {
  bool any = false;
  for (auto it = sends_.begin(); it != sends_.end();) {
    int done = 0;
    MPI_Test(&it->request, &done, MPI_STATUS_IGNORE);
    it = done != 0 ? sends_.erase(it) : std::next(it);
  }
  for (;;) {
    int found = 0;
    MPI_Message incoming = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, &incoming, &status);
    if (found == 0) return any;
    any = true;
    int length = 0;
    MPI_Get_count(&status, MPI_BYTE, &length);
    std::string bytes(static_cast<std::size_t>(length), '\0');
    MPI_Mrecv(bytes.data(), length, MPI_BYTE, &incoming, MPI_STATUS_IGNORE);
    if (status.MPI_TAG == kToAll) forward(bytes);
    handle(status.MPI_SOURCE, bytes);
  }
}

}  // namespace stage_model::mpi
