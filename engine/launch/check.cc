#include "engine/launch/check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "engine/base/command.h"
#include "engine/launch/assemble.h"
#include "engine/launch/loop.h"
#include "engine/launch/node_addresses.h"
#include "engine/launch/peer_auth.h"
#include "engine/launch/pmix_host.h"
#include "engine/launch/wire.h"
#include "stage_model/units.h"

namespace stage_model::launch {
namespace {

using Grade = Finding::Grade;
using Findings = std::vector<Finding>;

constexpr double kCommandTimeout = 15;
constexpr double kResolveTimeout = 10;
constexpr std::size_t kBlock = 4096;

// Output of a command; nothing if it fails or takes too long.
std::optional<std::string> output_of(const std::vector<std::string>& command) {
  std::vector<std::string> environment;
  for (char** item = environ; *item != nullptr; ++item) environment.emplace_back(*item);
  Result<CommandEnd> end = run_command(command, std::move(environment), kCommandTimeout);
  if (!end || !end->succeeded()) return std::nullopt;
  return std::move(end->output);
}

void check_credentials(const Config& config, Findings* findings) {
  const std::string what = config.key_file.empty() ? "munge" : "key file";
  const Result<std::unique_ptr<Authenticator>> authenticator = make_authenticator(config);
  if (!authenticator) {
    findings->push_back({Grade::kFail, what, authenticator.error().message});
    return;
  }
  const Claim claim{Claim::Role::kChild,     "check", 1, 0, random_bytes(kNonceSize),
                    random_bytes(kNonceSize)};
  const Result<Credential> credential = (*authenticator)->prove(claim);
  const Result<std::string> share = credential ? (*authenticator)->verify(claim, credential->text)
                                               : tl::unexpected(credential.error());
  if (!share || *share != credential->share) {
    findings->push_back(
        {Grade::kFail, what, share ? "a credential came back changed" : share.error().message});
  } else {
    findings->push_back({Grade::kOk, what, "round trip"});
  }
}

// An O_DIRECT write of one block to a file that is removed at once.
std::string direct_problem(const std::string& root) {
  std::string path = root + "/.stage-check.XXXXXX";
  const int plain = mkstemp(path.data());
  if (plain < 0) return fmt::format("cannot write there: {}", std::strerror(errno));
  close(plain);
  std::string problem;
  const int fd = open(path.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC);
  const std::unique_ptr<void, void (*)(void*)> block(std::aligned_alloc(kBlock, kBlock), std::free);
  std::memset(block.get(), 0, kBlock);
  if (fd < 0 || write(fd, block.get(), kBlock) != static_cast<ssize_t>(kBlock)) {
    problem = fmt::format("no O_DIRECT ({}); files are written through the page cache, slower",
                          std::strerror(errno));
  }
  if (fd >= 0) close(fd);
  unlink(path.c_str());
  return problem;
}

void check_root(const std::string& root, Findings* findings) {
  const std::string what = "root " + root;
  struct stat info {};
  struct statvfs space {};
  if (stat(root.c_str(), &info) != 0) {
    findings->push_back(
        {Grade::kFail, what,
         fmt::format("{}; create it on the node's own disk", std::strerror(errno))});
    return;
  }
  if (!S_ISDIR(info.st_mode)) {
    findings->push_back({Grade::kFail, what, "not a directory"});
    return;
  }
  const bool shared = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (info.st_mode & S_ISVTX) == 0;
  if (info.st_uid != 0 || shared) {
    findings->push_back({Grade::kFail, what,
                         "must belong to root and not be writable by others (chown root, chmod "
                         "755): a user could put another's directory in its place"});
  }
  const std::string problem = direct_problem(root);
  if (problem.rfind("cannot", 0) == 0) {
    findings->push_back({Grade::kFail, what, problem});
    return;
  }
  if (statvfs(root.c_str(), &space) != 0) return;
  const std::uint64_t available = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
  const std::string detail = format_size(available) + " free";
  if (!problem.empty()) {
    findings->push_back({Grade::kWarn, what, detail + "; " + problem});
  } else {
    findings->push_back({Grade::kOk, what, detail + ", O_DIRECT"});
  }
}

void check_memlock(Findings* findings) {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  if (limit.rlim_cur == RLIM_INFINITY) {
    findings->push_back({Grade::kOk, "memlock", "unlimited"});
  } else if (setrlimit(RLIMIT_MEMLOCK, &unlimited) == 0) {
    findings->push_back(
        {Grade::kOk, "memlock",
         fmt::format("{}, and the launcher can raise it", format_size(limit.rlim_cur))});
  } else {
    findings->push_back(
        {Grade::kWarn, "memlock",
         fmt::format("{}, and it cannot be raised; RDMA needs LimitMEMLOCK=infinity "
                     "in slurmd's unit (TCP works)",
                     format_size(limit.rlim_cur))});
  }
}

void check_name(const Config& config, Findings* findings) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const Node node{host.data(), ""};
  auto promise = std::make_shared<std::promise<Result<std::vector<Address>>>>();
  std::future<Result<std::vector<Address>>> answer = promise->get_future();
  std::thread([promise, node, config] { promise->set_value(addresses_of(node, config)); }).detach();
  const std::string what = "name " + node.name;
  if (answer.wait_for(std::chrono::duration<double>(kResolveTimeout)) !=
      std::future_status::ready) {
    findings->push_back(
        {Grade::kFail, what,
         fmt::format("the resolver has not answered within {:g} s", kResolveTimeout)});
    return;
  }
  const Result<std::vector<Address>> found = answer.get();
  if (!found) {
    findings->push_back({Grade::kFail, what, found.error().message});
    return;
  }
  std::string list;
  for (const Address& address : *found) list += (list.empty() ? "" : ", ") + address.text();
  findings->push_back({Grade::kOk, what, list});
}

void check_engine(const std::string& name, Findings* findings) {
  const Result<std::string> engine = find_engine(name);
  if (!engine) {
    findings->push_back({Grade::kFail, "engine", engine.error().message});
    return;
  }
  const std::optional<std::string> version = output_of({*engine, "--version"});
  if (!version) {
    findings->push_back(
        {Grade::kFail, "engine",
         fmt::format("{} --version does not run; are its libraries here?", *engine)});
    return;
  }
  findings->push_back({Grade::kOk, "engine",
                       fmt::format("{}: {}", *engine, version->substr(0, version->find('\n')))});
}

void check_pmix(Findings* findings) {
  findings->push_back(
      {Grade::kOk, "PMIx",
       fmt::format("built with {}, running {}", pmix_build_version(),
                   pmix_library_version().substr(0, pmix_library_version().find('(')))});
}

void check_slurm_here(const Config& config, Findings* findings) {
  const std::optional<std::string> text = output_of({"scontrol", "show", "config"});
  if (!text) {
    findings->push_back({Grade::kWarn, "slurm",
                         "no answer from `scontrol show config`; its "
                         "settings are not checked"});
    return;
  }
  for (const Finding& finding : check_slurm(*text, config)) findings->push_back(finding);
}

}  // namespace

int check_node(const Options& options) {
  Findings findings;
  const std::string path = options.config.empty() ? default_config_path() : options.config;
  const Result<Config> loaded = assemble_config(options);
  Config config;
  if (!loaded) {
    findings.push_back({Grade::kFail, "config", loaded.error().message});
  } else {
    config = *loaded;
    const bool from_file = !options.no_config && access(path.c_str(), R_OK) == 0;
    findings.push_back(
        {from_file ? Grade::kOk : Grade::kWarn, "config",
         from_file ? path : path + " is not there; these are the built-in defaults"});
  }
  check_credentials(config, &findings);
  for (const std::string& root : config.roots) check_root(root, &findings);
  check_memlock(&findings);
  check_name(config, &findings);
  check_engine(options.engine.empty() ? config.engine : options.engine, &findings);
  check_pmix(&findings);
  check_slurm_here(config, &findings);
  bool failed = false;
  for (const Finding& finding : findings) {
    const char* grade = finding.grade == Grade::kOk     ? "ok"
                        : finding.grade == Grade::kWarn ? "warn"
                                                        : "FAIL";
    std::puts(fmt::format("{:<4} {}: {}", grade, finding.what, finding.detail).c_str());
    failed = failed || finding.grade == Grade::kFail;
  }
  return failed ? static_cast<int>(ExitCode::kUsage) : 0;
}

}  // namespace stage_model::launch
