#include "engine/mpi/probe.h"

#include <algorithm>
#include <vector>

namespace stage_model::mpi {
namespace {

constexpr char kWhat[] = "the probe of the fabric";
constexpr int kTag = 7;

// fabric.wait() sleeps between looks, which a latency must not contain.
void wait_awake(Fabric& fabric, MPI_Request* requests, int count) {
  constexpr double kAwake = 200e-6;
  fabric.wait(
      [&] {
        const double begin = MPI_Wtime();
        int done = 0;
        do {
          MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
        } while (done == 0 && MPI_Wtime() - begin < kAwake);
        return done != 0;
      },
      kWhat);
}

double barrier(Fabric& fabric) {
  const double begin = MPI_Wtime();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(fabric.world(), &request);
  wait_awake(fabric, &request, 1);
  return MPI_Wtime() - begin;
}

// The root of a broadcast is done before the others are: a barrier tells when the last one was.
double chain(Fabric& fabric) {
  constexpr int kRounds = 3;
  double both = 1e9;
  double alone = 1e9;
  barrier(fabric);
  for (int round = 0; round < kRounds; ++round) {
    const double begin = MPI_Wtime();
    char byte = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(&byte, 1, MPI_BYTE, 0, fabric.world(), &request);
    wait_awake(fabric, &request, 1);
    barrier(fabric);
    both = std::min(both, MPI_Wtime() - begin);
    alone = std::min(alone, barrier(fabric));
  }
  return std::max(both - alone, 0.0);
}

// Seconds for `bytes` from every rank to the next.
double ring(Fabric& fabric, std::vector<char>& out, std::vector<char>& in) {
  const int next = (fabric.rank() + 1) % fabric.size();
  const int previous = (fabric.rank() + fabric.size() - 1) % fabric.size();
  const auto count = static_cast<int>(out.size());
  barrier(fabric);
  const double begin = MPI_Wtime();
  MPI_Request requests[2];
  MPI_Irecv(in.data(), count, MPI_BYTE, previous, kTag, fabric.world(), &requests[0]);
  MPI_Isend(out.data(), count, MPI_BYTE, next, kTag, fabric.world(), &requests[1]);
  wait_awake(fabric, requests, 2);
  return MPI_Wtime() - begin;
}

}  // namespace

FabricSpeed probe(Fabric& fabric) {
  FabricSpeed speed;
  if (fabric.size() == 1) return speed;
  // Larger until the time is more than latency; the first also pays for the connection.
  constexpr double kEnough = 2e-3;
  constexpr std::size_t kSizes[] = {4096, 64 << 10, 1 << 20, 16 << 20};
  for (const std::size_t size : kSizes) {
    std::vector<char> out(size);
    std::vector<char> in(size);
    std::vector<double> slowest{ring(fabric, out, in)};
    fabric.reduce(slowest, MPI_MAX, kWhat);
    if (size == kSizes[0]) continue;
    speed.bytes_per_s = static_cast<double>(size) / std::max(slowest[0], 1e-9);
    if (slowest[0] > kEnough) break;
  }
  std::vector<double> longest{chain(fabric)};
  fabric.reduce(longest, MPI_MAX, kWhat);
  speed.chain_s = longest[0];
  return speed;
}

}  // namespace stage_model::mpi
