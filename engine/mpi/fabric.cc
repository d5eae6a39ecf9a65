#include "engine/mpi/fabric.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "stage_model/channel.h"

namespace stage_model::mpi {
namespace {

constexpr std::size_t kNameLength = 256;
constexpr std::size_t kMessageLength = 2048;
// An int counts the items of one MPI call.
constexpr std::size_t kMaxCount = std::size_t{1} << 30;

std::string own_name() {
  if (const char* name = std::getenv(kNodeVariable))
    return std::string(name).substr(0, kNameLength - 1);
  if (const char* name = std::getenv("SLURMD_NODENAME"))
    return std::string(name).substr(0, kNameLength - 1);
  std::array<char, kNameLength> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

int number_from(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : 0;
}

}  // namespace

Result<std::unique_ptr<Fabric>> Fabric::init(int* argc, char*** argv, bool share_node) {
  int provided = 0;
  // Only the main thread calls MPI.
  if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    return fail(ExitCode::kFabric,
                "MPI_Init failed; see the lines above, and docs/admin-guide.md on transports");
  }
  std::unique_ptr<Fabric> fabric(new Fabric);
  MPI_Comm_dup(MPI_COMM_WORLD, &fabric->world_);
  MPI_Comm_rank(fabric->world_, &fabric->rank_);
  MPI_Comm_size(fabric->world_, &fabric->size_);
  fabric->nodes_.resize(fabric->size_);
  fabric->nodes_[fabric->rank_] = own_name();
  if (auto ok = fabric->check_size(); !ok) return tl::unexpected(ok.error());
  fabric->gather_names();
  if (share_node) return fabric;
  if (auto ok = fabric->check_one_per_node(); !ok) return tl::unexpected(ok.error());
  return fabric;
}

Fabric::~Fabric() {
  if (world_ != MPI_COMM_NULL) MPI_Comm_free(&world_);
  MPI_Finalize();
}

Status Fabric::check_size() const {
  auto mismatch = [&](const char* who, int promised) {
    return fail(
        ExitCode::kFabric,
        fmt::format(
            "MPI sees {} rank(s) where {} started {}: the MPI library did not find its launcher "
            "(under srun: use --mpi=pmix)",
            size_, who, promised));
  };
  if (const int n = number_from(kNodesVariable); n > 0 && n != size_)
    return mismatch("stage-launch", n);
  const char* step = std::getenv("SLURM_STEP_ID");
  // Inside mpirun the step is mpirun's own (orted), so its task count says nothing of the ranks.
  if (const int n = number_from("OMPI_COMM_WORLD_SIZE"); n > 0) {
    if (n != size_) return mismatch("mpirun", n);
  } else if (step != nullptr && std::getenv(kNodesVariable) == nullptr) {
    if (const int tasks = number_from("SLURM_STEP_NUM_TASKS"); tasks > 0 && tasks != size_) {
      return mismatch("srun", tasks);
    }
  }
  return {};
}

void Fabric::gather_names() {
  std::vector<char> all(kNameLength * size_);
  const std::string& mine = nodes_[rank_];
  std::memcpy(&all[kNameLength * rank_], mine.data(), std::min(mine.size(), kNameLength - 1));
  merge(all.data(), all.size(), MPI_BYTE, "the other ranks' names");
  for (int i = 0; i < size_; ++i) nodes_[i] = &all[kNameLength * i];
}

Status Fabric::check_one_per_node() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(world_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
  int here = 1;
  MPI_Comm_size(node, &here);
  MPI_Comm_free(&node);
  auto ok = here == 1 ? Status{}
                      : fail(ExitCode::kUsage,
                             fmt::format("{} ranks on one node; start one per node "
                                         "(srun --ntasks-per-node=1, mpirun --map-by ppr:1:node)",
                                         here));
  auto agreed = agree(ok, "the ranks per node");
  if (agreed) return {};
  return fail(agreed.error().error.code,
              fmt::format("{}: {}", agreed.error().node, agreed.error().error.message));
}

void Fabric::on_wait(Idle idle, LastWords last_words, double deadline_s) {
  idle_ = std::move(idle);
  last_words_ = std::move(last_words);
  deadline_ = deadline_s > 0 ? MPI_Wtime() + deadline_s : 0;
}

void Fabric::finishing(double seconds) { patient_until_ = MPI_Wtime() + seconds; }

void Fabric::wait(const std::function<bool()>& done, const char* what) {
  useconds_t nap = 20;
  while (!done()) {
    if (idle_) {
      if (auto ok = idle_(); !ok && MPI_Wtime() > patient_until_) hard_stop(ok.error());
    }
    if (deadline_ > 0 && MPI_Wtime() > deadline_) {
      hard_stop(
          {ExitCode::kStopped, fmt::format("the deadline passed while waiting for {}", what)});
    }
    usleep(nap);
    nap = std::min<useconds_t>(nap * 2, 1000);
  }
}

void Fabric::wait(MPI_Request request, const char* what) {
  wait(
      [&] {
        int flag = 0;
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        return flag != 0;
      },
      what);
}

void Fabric::broadcast(std::string& bytes, const char* what) {
  if (size_ == 1) return;
  std::uint64_t length = bytes.size();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&length, 1, MPI_UINT64_T, 0, world_, &request);
  wait(request, what);
  bytes.resize(length);
  for (std::size_t at = 0; at < length; at += kMaxCount) {
    const auto count = static_cast<int>(std::min(kMaxCount, length - at));
    MPI_Ibcast(bytes.data() + at, count, MPI_BYTE, 0, world_, &request);
    wait(request, what);
  }
}

std::vector<std::uint64_t> Fabric::gather_all(const std::vector<std::uint64_t>& mine,
                                              const char* what) {
  if (size_ == 1) return mine;
  std::vector<std::uint64_t> all(mine.size() * size_);
  std::copy(mine.begin(), mine.end(), all.begin() + static_cast<long>(mine.size()) * rank_);
  merge(all.data(), all.size(), MPI_UINT64_T, what);
  return all;
}

// Each rank's own part is set and the rest is zero. Open MPI's MPI_Iallgather would send from each
// rank to every other and leave N - 1 connections on each; a reduction needs log N of them.
void Fabric::merge(void* all, std::size_t count, MPI_Datatype type, const char* what) {
  int width = 1;
  MPI_Type_size(type, &width);
  for (std::size_t at = 0; at < count; at += kMaxCount) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(
        MPI_IN_PLACE, static_cast<std::byte*>(all) + at * static_cast<std::size_t>(width),
        static_cast<int>(std::min(kMaxCount, count - at)), type, MPI_BOR, world_, &request);
    wait(request, what);
  }
}

std::vector<std::string> Fabric::gather_text(const std::string& mine, const char* what) {
  const auto lengths = gather_all({mine.size()}, what);
  std::vector<std::string> all;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank_ != 0) {
    MPI_Isend(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, 0, 0, world_, &request);
    wait(request, what);
    return all;
  }
  all.push_back(mine);
  for (int from = 1; from < size_; ++from) {
    std::string& text = all.emplace_back(lengths[from], '\0');
    MPI_Irecv(text.data(), static_cast<int>(text.size()), MPI_BYTE, from, 0, world_, &request);
    wait(request, what);
  }
  return all;
}

double Fabric::clock_offset() {
  constexpr int kRounds = 8;
  double offset = 0;
  for (int other = 1; other < size_; ++other) {
    if (rank_ != 0 && rank_ != other) continue;
    double best = 1e9;
    for (int round = 0; round < kRounds; ++round) {
      double theirs = 0;
      MPI_Request request = MPI_REQUEST_NULL;
      if (rank_ == 0) {
        MPI_Irecv(&theirs, 1, MPI_DOUBLE, other, 1, world_, &request);
        wait(request, "the clocks");
        theirs = MPI_Wtime();
        MPI_Isend(&theirs, 1, MPI_DOUBLE, other, 1, world_, &request);
        wait(request, "the clocks");
        continue;
      }
      const double sent = MPI_Wtime();
      MPI_Isend(&theirs, 1, MPI_DOUBLE, 0, 1, world_, &request);
      wait(request, "the clocks");
      MPI_Irecv(&theirs, 1, MPI_DOUBLE, 0, 1, world_, &request);
      wait(request, "the clocks");
      const double received = MPI_Wtime();
      if (received - sent < best) {
        best = received - sent;
        offset = theirs - (sent + received) / 2;
      }
    }
  }
  return offset;
}

void Fabric::reduce(std::vector<double>& values, MPI_Op op, const char* what) {
  if (size_ == 1) return;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, op,
                 world_, &request);
  wait(request, what);
}

tl::expected<void, Cause> Fabric::agree(const Status& mine, const char* what) {
  if (size_ == 1) {
    if (mine) return {};
    return tl::unexpected(Cause{mine.error(), node()});
  }
  struct {
    int weight, rank;
  } vote{0, rank_}, result{};
  if (!mine) vote.weight = mine.error().code == ExitCode::kStopped ? 1 : 2;
  int failures = mine ? 0 : 1;
  int all_failures = 0;
  std::array<MPI_Request, 2> requests{};
  MPI_Iallreduce(&vote, &result, 1, MPI_2INT, MPI_MAXLOC, world_, requests.data());
  MPI_Iallreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, world_, &requests[1]);
  for (MPI_Request& request : requests) wait(request, what);
  if (result.weight == 0) return {};
  struct {
    int code;
    char message[kMessageLength];
  } wire{};
  if (rank_ == result.rank) {
    wire.code = static_cast<int>(mine.error().code);
    std::memcpy(wire.message, mine.error().message.data(),
                std::min(mine.error().message.size(), kMessageLength - 1));
  }
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&wire, sizeof wire, MPI_BYTE, result.rank, world_, &request);
  wait(request, what);
  Cause cause{{static_cast<ExitCode>(wire.code), wire.message}, nodes_[result.rank]};
  if (all_failures > 1 && result.weight == 2 && all_failures < size_) {
    cause.error.message += fmt::format(" (and on {} other node(s))", all_failures - 1);
  }
  return tl::unexpected(cause);
}

void Fabric::hard_stop(const Error& error) {
  if (last_words_) last_words_(error);
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.code));
  _exit(static_cast<int>(error.code));
}

}  // namespace stage_model::mpi
