#include "engine/credentials.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

#include "stage_model/channel.h"

extern char** environ;

namespace stage_model {
namespace {

// An item may be as long as a connection string with a SAS; this bounds a launcher gone mad.
constexpr std::size_t kMaxBytes = 1 << 20;

std::string read_all(int fd) {
  std::string bytes;
  std::array<char, 4096> piece{};
  while (bytes.size() < kMaxBytes) {
    const ssize_t n = read(fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    bytes.append(piece.data(), static_cast<std::size_t>(n));
  }
  return bytes;
}

void add(source::Variables& variables, std::string_view item) {
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos || equals == 0) return;
  variables.try_emplace(std::string(item.substr(0, equals)), item.substr(equals + 1));
}

}  // namespace

source::Variables read_credentials() {
  source::Variables variables;
  if (const char* text = std::getenv(kCredentialsFdVariable)) {
    const int fd = std::atoi(text);
    if (fd > 2) {
      const std::string bytes = read_all(fd);
      close(fd);
      for (std::string_view rest = bytes; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\0'), rest.size());
        add(variables, rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    unsetenv(kCredentialsFdVariable);
  }
  for (char** item = environ; *item != nullptr; ++item) add(variables, *item);
  return variables;
}

}  // namespace stage_model
