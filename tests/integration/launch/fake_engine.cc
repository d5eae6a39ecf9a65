// Stands for stage-engine in the launcher's tests: an MPI program that does one thing, well or
// badly.
#include <fcntl.h>
#include <grp.h>
#include <mpi.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "stage_model/channel.h"

namespace {

using stage_model::kCredentialsFdVariable;
using stage_model::kNodesVariable;
using stage_model::kNodeVariable;
using stage_model::kStatusFdVariable;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

void tell(const std::string& line) {
  const std::string text = line + "\n";
  const int fd = std::atoi(variable(kStatusFdVariable).c_str());
  if (write(fd, text.data(), text.size()) < 0) std::perror("status");
}

std::string read_credentials() {
  std::string all;
  char piece[4096];
  const int fd = std::atoi(variable(kCredentialsFdVariable).c_str());
  for (ssize_t got = 0; (got = read(fd, piece, sizeof piece)) > 0;) all.append(piece, got);
  close(fd);
  return all;
}

struct World {
  int rank = 0;
  int size = 0;
};

World init() {
  MPI_Init(nullptr, nullptr);
  World world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  if (std::to_string(world.size) != variable(kNodesVariable)) {
    tell("failed 6 - MPI has " + std::to_string(world.size) + " ranks, not " +
         variable(kNodesVariable));
    std::exit(6);
  }
  tell("connected");
  return world;
}

// Broadcasts from every rank in turn, and checks every byte.
bool broadcast(const World& world, int bytes) {
  std::vector<unsigned char> buffer(bytes);
  for (int round = 0; round < 3 * world.size; ++round) {
    const int root = round % world.size;
    for (int i = 0; i < bytes; ++i) {
      buffer[i] = world.rank == root ? static_cast<unsigned char>(i * 31 + round) : 0;
    }
    MPI_Request request;
    MPI_Ibcast(buffer.data(), bytes, MPI_BYTE, root, MPI_COMM_WORLD, &request);
    for (int done = 0; done == 0;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done == 0) usleep(100);
    }
    for (int i = 0; i < bytes; ++i) {
      if (buffer[i] != static_cast<unsigned char>(i * 31 + round)) return false;
    }
  }
  return true;
}

// Works, reports and never ends.
void work(bool report) {
  for (int tick = 0;; ++tick) {
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (done == 0) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (report) tell("alive " + std::to_string(tick) + " 1000000");
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

// Everything that the launcher gave this process, for the test to read.
void dump(const std::string& path, const std::vector<std::string>& options) {
  std::ofstream out(path);
  for (const std::string& option : options) out << "option " << option << "\n";
  out << "uid " << getuid() << " " << geteuid() << " gid " << getgid() << "\ngroups";
  gid_t groups[256];
  const int count = getgroups(256, groups);
  for (int i = 0; i < count; ++i) out << " " << groups[i];
  rlimit memlock{};
  rlimit core{};
  getrlimit(RLIMIT_MEMLOCK, &memlock);
  getrlimit(RLIMIT_CORE, &core);
  const mode_t mask = umask(0);
  umask(mask);
  out << "\nmemlock " << (memlock.rlim_cur == RLIM_INFINITY ? "unlimited" : "limited") << "\ncore "
      << core.rlim_cur << "\numask " << mask << "\nsession "
      << (getsid(0) == getpid() ? "own" : "shared") << "\n";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("NoNewPrivs", 0) == 0) out << "nnp " << line.substr(12) << "\n";
  }
  std::string credentials = read_credentials();
  for (char& c : credentials) c = c == '\0' ? ' ' : c;
  out << "credentials " << credentials << "\n";
  for (int fd = 0; fd < 64; ++fd) {
    char name[64];
    char target[256];
    std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(name, target, sizeof target);
    if (length > 0) out << "fd " << fd << " " << std::string(target, length) << "\n";
  }
  for (char** entry = environ; *entry != nullptr; ++entry) out << "env " << *entry << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  // The configuration's options come before the test's words.
  std::vector<std::string> options;
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    (words.empty() && text.starts_with("--") && text != "--version" ? options : words)
        .push_back(text);
  }
  words.resize(2);
  const std::string mode = words[0];
  const std::string argument = words[1];
  if (mode == "--version") {
    std::puts("fake engine");
    return 0;
  }
  if (mode == "exit") return std::atoi(argument.c_str());
  if (mode == "sleep") std::this_thread::sleep_for(std::chrono::hours(1));
  if (mode == "dump") dump(argument + "/" + variable(kNodeVariable) + ".txt", options);
  const World world = init();
  const bool last = world.rank == world.size - 1;
  if (mode == "hello" || mode == "dump") {
    const bool good = broadcast(world, mode == "hello" ? std::atoi(argument.c_str()) : 1000);
    if (!good) {
      tell("failed 7 - a broadcast brought other bytes");
      return 7;
    }
    if (world.rank == 0) std::printf("broadcast of %s bytes verified\n", argument.c_str());
    tell("staged /nowhere");
  } else if (mode == "work") {
    work(true);
  } else if (mode == "silent") {  // the last one says nothing more
    work(!last);
  } else if (mode == "abort") {
    if (last) MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (mode == "reason") {
    if (last) {
      tell("failed 4 " + variable(kNodeVariable) + " disk full: 3 GiB wanted, 1 GiB free");
      return 4;
    }
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (mode == "nofinalize") {
    if (last) {
      tell("staged /nowhere");
      _exit(0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (mode == "notstaged") {
    // ends well, but for the one line
  }
  MPI_Finalize();
  return 0;
}
