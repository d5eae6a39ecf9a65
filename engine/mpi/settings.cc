#include "engine/mpi/settings.h"

#include <dlfcn.h>
#include <mpi.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace stage_model::mpi {
namespace {

constexpr char kPrefix[] = "OMPI_MCA_";
constexpr char kFile[] = "openmpi-mca-params.conf";

std::optional<std::string> from_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

// Where the library lies tells where its own file is: PREFIX/lib/libmpi.so, PREFIX/etc. A
// distribution's is below /usr, and its file below /etc.
std::vector<std::string> files_of_installation() {
  if (const auto directory = from_environment("OPAL_SYSCONFDIR")) return {*directory + "/" + kFile};
  if (const auto prefix = from_environment("OPAL_PREFIX")) return {*prefix + "/etc/" + kFile};
  Dl_info library{};
  if (dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &library) == 0) return {};
  const std::string path = library.dli_fname;
  if (path.starts_with("/usr/") && !path.starts_with("/usr/local/")) {
    return {std::string("/etc/openmpi/") + kFile, std::string("/etc/openmpi-x86_64/") + kFile,
            std::string("/etc/openmpi-aarch64/") + kFile};
  }
  return {path.substr(0, path.rfind("/lib")) + "/etc/" + kFile};
}

std::vector<std::string> files() {
  if (const auto list = from_environment(std::string(kPrefix) + "mca_base_param_files"))
    return split(*list);
  std::vector<std::string> found;
  if (const auto home = from_environment("HOME"))
    found.push_back(*home + "/.openmpi/mca-params.conf");
  for (std::string& path : files_of_installation()) found.push_back(std::move(path));
  return found;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\"'";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace

Settings::Settings() {
  for (const std::string& path : files()) read_file(path);
}

// The first file that names a parameter wins: the user's comes before the installation's.
void Settings::read_file(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::string_view text = std::string_view(line).substr(0, line.find('#'));
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view value = trimmed(text.substr(equals + 1));
    if (value.empty() || value.starts_with('^')) continue;
    from_files_.emplace(trimmed(text.substr(0, equals)), value);
  }
}

std::optional<std::string> Settings::given(const std::string& name) const {
  if (auto value = from_environment(kPrefix + name); value && !value->empty()) return value;
  const auto at = from_files_.find(name);
  return at != from_files_.end() ? std::optional<std::string>(at->second) : std::nullopt;
}

void Settings::set_default(const std::string& name, const std::string& value) {
  if (!given(name)) setenv((kPrefix + name).c_str(), value.c_str(), 1);
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> items;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    items.emplace_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return items;
}

bool allows(std::string_view list, std::string_view component) {
  const bool excludes = list.starts_with('^');
  if (list.empty()) return true;
  for (const std::string& name : split(list.substr(excludes ? 1 : 0))) {
    if (name == component) return !excludes;
  }
  return excludes;
}

}  // namespace stage_model::mpi
