#include "tests/support/child.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace stage_model::test {
namespace {

constexpr char kRudeServer[] = STAGE_TEST_SUPPORT "/rude_server.py";

bool gone_within(pid_t pid, int milliseconds) {
  for (int waited = 0; waited < milliseconds; waited += 10) {
    if (waitpid(pid, nullptr, WNOHANG) == pid) return true;
    const timespec pause = {0, 10'000'000};
    nanosleep(&pause, nullptr);
  }
  return false;
}

}  // namespace

void give_up(const std::string& what) {
  std::fprintf(stderr, "test support: %s\n", what.c_str());
  std::abort();
}

std::string program_of(const char* name, const char* script) {
  const char* program = std::getenv(name);
  if (program == nullptr) {
    give_up(std::string(name) + " is not set: export " + name + "=$(tests/support/" + script + ")");
  }
  return program;
}

Child::Child(const std::vector<std::string>& command) {
  std::array<int, 2> in{}, out{};
  if (pipe(in.data()) != 0 || pipe(out.data()) != 0) give_up("no pipes");
  const pid_t parent = getpid();
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ < 0) give_up("no fork");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that crashes leaves nothing behind
    if (getppid() != parent) _exit(1);
    dup2(in[0], 0);
    dup2(out[1], 1);
    for (const int fd : {in[0], in[1], out[0], out[1]}) close(fd);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  output_ = out[0];
}

Child::~Child() {
  close(input_);
  kill(pid_, SIGTERM);
  if (!gone_within(pid_, 3000)) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (drain_.joinable()) drain_.join();
  close(output_);
}

std::string Child::wait_for(const std::string& word) {
  std::string pending;
  std::string found;
  const std::time_t end = std::time(nullptr) + 30;
  while (found.empty() && std::time(nullptr) < end) {
    pollfd waiting = {output_, POLLIN, 0};
    if (poll(&waiting, 1, 1000) <= 0) continue;
    std::array<char, 4096> buffer{};
    const ssize_t got = read(output_, buffer.data(), buffer.size());
    if (got <= 0) return "";
    pending.append(buffer.data(), static_cast<std::size_t>(got));
    for (std::size_t line; (line = pending.find('\n')) != std::string::npos && found.empty();) {
      const auto at = pending.find(word);
      if (at < line) found = pending.substr(at + word.size(), line - at - word.size());
      pending.erase(0, line + 1);
    }
  }
  drain_ = std::thread([file = output_] {
    std::array<char, 4096> buffer{};
    while (read(file, buffer.data(), buffer.size()) > 0) {
    }
  });
  return found;
}

RudeServer::RudeServer(const std::string& pem)
    : child_(pem.empty() ? std::vector<std::string>{"python3", kRudeServer}
                         : std::vector<std::string>{"python3", kRudeServer, pem}) {
  const std::string port = child_.wait_for("port ");
  if (port.empty()) give_up("rude_server.py does not start: is python3 there?");
  origin_ = (pem.empty() ? "http://127.0.0.1:" : "https://127.0.0.1:") + port;
}

}  // namespace stage_model::test
