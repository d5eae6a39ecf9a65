#include "spank/credentials.h"

#include <algorithm>
#include <string_view>

#include "engine/base/text.h"
#include "engine/base/variables.h"
#include "engine/contract/model_url.h"
#include "stage_model/stores.h"

namespace stage_model::spank {
namespace {

constexpr std::size_t kMaxValue = 32 << 10;
// A variable of 128 KiB is too long for execve(), and sealing makes it a third longer.
constexpr std::size_t kMaxPacked = 60 << 10;

}  // namespace

std::vector<std::string> credential_names(const JobRequest& request,
                                          const std::vector<std::string>& extra) {
  std::vector<std::string> names = extra;
  for (const ModelRequest& model : request.models) {
    for (std::string& name : variables_of_scheme(url_scheme(model.url))) {
      names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<Credentials> gather_credentials(
    const std::vector<std::string>& names,
    const std::function<const char*(const std::string&)>& lookup) {
  Credentials found;
  for (const std::string& name : names) {
    const char* value = lookup(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text(value);
    if (text.size() > kMaxValue || has_control(text) || !valid_utf8(text)) {
      return fail(ExitCode::kUsage,
                  "the variable " + name + " holds unprintable characters or more than 32 KiB");
    }
    found.emplace_back(name, value);
  }
  return found;
}

// No value holds a control character, so a line end separates.
Result<std::string> pack_credentials(const Credentials& credentials) {
  std::string packed;
  for (const auto& [name, value] : credentials) {
    if (!packed.empty()) packed += '\n';
    packed.append(name).append("=").append(value);
  }
  if (packed.size() <= kMaxPacked) return packed;
  return fail(ExitCode::kUsage, "the variables of the credentials are more than 60 KiB together");
}

Result<Credentials> unpack_credentials(std::string_view packed,
                                       const std::vector<std::string>& wanted) {
  Variables variables;
  while (!packed.empty()) {
    const std::string_view item = packed.substr(0, packed.find('\n'));
    packed.remove_prefix(std::min(packed.size(), item.size() + 1));
    const std::size_t equals = std::min(item.find('='), item.size());
    variables.emplace(item.substr(0, equals), item.substr(std::min(item.size(), equals + 1)));
  }
  return gather_credentials(wanted, [&](const std::string& name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

}  // namespace stage_model::spank
