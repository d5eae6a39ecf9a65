#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <utility>

#include "engine/auth/azure_login.h"
#include "engine/base/command.h"

namespace stage_model::auth {
namespace {

constexpr double kTimeLimit = 30;  // az is Python and may refresh a token

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
  Result<CommandEnd> ending =
      run_command(std::move(command), environment_of(variables), kTimeLimit);
  if (!ending) {
    return fail(ExitCode::kSource, fmt::format("az cannot be run: {}", ending.error().message));
  }
  if (ending->late) {
    return fail(ExitCode::kSource, fmt::format("{} gave no token within {} s", az, kTimeLimit));
  }
  if (!ending->succeeded()) {
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
