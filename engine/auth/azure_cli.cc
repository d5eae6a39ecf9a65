#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "engine/auth/azure_login.h"
#include "engine/base/variables.h"

namespace stage_model::auth {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTimeLimit = std::chrono::seconds(30);  // az is Python and may refresh a token
constexpr std::size_t kMaxOutput = 1 << 20;

std::string find_az(const Variables& variables) {
  const std::string path = variable(variables, "PATH");
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view directory = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), directory.size() + 1));
    if (directory.empty() || directory.front() != '/') continue;  // never the current directory's
    std::string file = std::string(directory) + "/az";
    struct stat status {};
    if (stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return {};
}

// What az needs; our other secrets are none of its business.
std::vector<std::string> environment_of(const Variables& variables) {
  std::vector<std::string> out;
  for (const char* name : {"PATH", "HOME", "USER", "LANG", "LC_ALL", "AZURE_CONFIG_DIR",
                           "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY",
                           "no_proxy", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"}) {
    if (const std::string value = variable(variables, name); !value.empty()) {
      out.push_back(std::string(name) + "=" + value);
    }
  }
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

struct Ending {
  std::string output;
  int status = 0;  // of waitpid
  bool late = false;
};

// Reads until the end of the output or the time limit.
void read_output(int file, Clock::time_point end, Ending& out) {
  std::array<char, 4096> piece{};
  while (out.output.size() < kMaxOutput) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd waiting = {file, POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&waiting, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      out.late = true;
      return;
    }
    const ssize_t got = read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    out.output.append(piece.data(), static_cast<std::size_t>(got));
  }
}

// No shell: nothing of a name or value is ever interpreted. Its own process group, so that what az
// starts ends with it.
Result<Ending> run(std::vector<std::string> command, std::vector<std::string> environment) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    return fail(ExitCode::kSource, fmt::format("az: {}", std::strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  pid_t child = -1;
  const int error = posix_spawn(&child, command[0].c_str(), &actions, &attributes,
                                pointers(command).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(pipe_ends[1]);
  if (error != 0) {
    close(pipe_ends[0]);
    return fail(ExitCode::kSource, fmt::format("az cannot be run: {}", std::strerror(error)));
  }
  Ending out;
  const auto end = Clock::now() + kTimeLimit;
  read_output(pipe_ends[0], end, out);
  close(pipe_ends[0]);
  while (!out.late && waitpid(child, &out.status, WNOHANG) == 0) {
    out.late = Clock::now() >= end;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (out.late) {
    kill(-child, SIGKILL);
    waitpid(child, &out.status, 0);
  }
  return out;
}

Result<std::optional<Credential>> fetch(const Variables& variables, std::string& why) {
  const std::string az = find_az(variables);
  if (az.empty()) {
    why = "az is not in PATH";
    return std::nullopt;
  }
  std::vector<std::string> command = {
      az, "account", "get-access-token", "--resource", kStorageResource, "--output", "json"};
  if (const std::string tenant = variable(variables, "AZURE_TENANT_ID"); !tenant.empty()) {
    command.insert(command.end(), {"--tenant", tenant});
  }
  Result<Ending> ending = run(std::move(command), environment_of(variables));
  if (!ending) return tl::unexpected(ending.error());
  if (ending->late) {
    return fail(ExitCode::kSource,
                fmt::format("{} gave no token within {} s", az, kTimeLimit.count()));
  }
  if (!WIFEXITED(ending->status) || WEXITSTATUS(ending->status) != 0) {
    why = fmt::format("{} knows no login here: run 'az login'", az);
    return std::nullopt;
  }
  Result<Credential> proof = parse_azure_token(ending->output, std::time(nullptr));
  if (!proof) return fail(ExitCode::kSource, fmt::format("{}: {}", az, proof.error().message));
  return std::optional<Credential>(std::move(*proof));
}

}  // namespace

AzureTokenWay azure_cli(const Variables& variables) {
  AzureTokenWay way;
  way.name = "Azure CLI";
  way.fetch = [variables](std::string& why) { return fetch(variables, why); };
  return way;
}

}  // namespace stage_model::auth
