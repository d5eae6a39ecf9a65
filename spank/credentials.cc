#include "spank/credentials.h"

#include <algorithm>
#include <string_view>

#include "engine/base/text.h"
#include "engine/contract/model_url.h"
#include "stage_model/stores.h"

namespace stage_model::spank {
namespace {

constexpr std::size_t kMaxValue = 32 << 10;

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

}  // namespace stage_model::spank
