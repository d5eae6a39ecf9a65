#include "engine/auth/aws_profile.h"

#include <algorithm>

#include "engine/auth/secret_file.h"
#include "engine/base/variables.h"

namespace stage_model::auth {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::string path_of(const Variables& variables, const char* name, const char* in_home) {
  std::string path = variable(variables, name);
  if (path.starts_with("~/")) return home_directory(variables) + path.substr(1);
  return path.empty() ? home_directory(variables) + in_home : path;
}

}  // namespace

std::map<std::string, AwsSettings> parse_aws_file(std::string_view text) {
  std::map<std::string, AwsSettings> sections;
  AwsSettings* section = nullptr;
  std::string above;  // the setting that indented lines belong to
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view plain = trimmed(line);
    if (plain.empty() || plain.front() == '#' || plain.front() == ';') continue;
    if (plain.front() == '[') {
      const std::size_t end = plain.find(']');
      section = end == std::string_view::npos
                    ? nullptr
                    : &sections[std::string(trimmed(plain.substr(1, end - 1)))];
      above.clear();
      continue;
    }
    const std::size_t equals = plain.find('=');
    if (section == nullptr || equals == std::string_view::npos) continue;
    const bool nested = line.front() == ' ' || line.front() == '\t';
    if (nested && above.empty()) continue;
    const std::string name = lowered(trimmed(plain.substr(0, equals)));
    (*section)[nested ? std::string(above).append(".").append(name) : name] =
        trimmed(plain.substr(equals + 1));
    if (!nested) above = name;
  }
  return sections;
}

AwsProfile read_aws_profile(const Variables& variables) {
  AwsProfile profile;
  profile.name = variable(variables, "AWS_PROFILE");
  if (profile.name.empty()) profile.name = variable(variables, "AWS_DEFAULT_PROFILE");
  profile.named = !profile.name.empty();
  if (!profile.named) profile.name = "default";

  const auto read = [&profile](const std::string& path, const std::string& prefix) {
    Result<std::string> text = read_secret_file(path);
    if (!text) {
      if (text.error().code != ExitCode::kUsage) {
        profile.files += (profile.files.empty() ? "" : "; ") + text.error().message;
      }
      return;
    }
    const auto sections = parse_aws_file(*text);
    auto at = sections.find(prefix + profile.name);
    if (at == sections.end()) at = sections.find(profile.name);
    if (at == sections.end()) return;
    profile.found = true;
    const auto services = at->second.find("services");
    if (services != at->second.end()) {
      const auto named = sections.find("services " + services->second);
      if (named != sections.end())
        profile.settings.insert(named->second.begin(), named->second.end());
    }
    for (const auto& [key, value] : at->second) profile.settings[key] = value;
  };
  read(path_of(variables, "AWS_CONFIG_FILE", "/.aws/config"), "profile ");
  read(path_of(variables, "AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials"), "");
  return profile;
}

}  // namespace stage_model::auth
