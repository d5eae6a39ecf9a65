#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/launch/peer_auth.h"

namespace stage_model::launch {
namespace {

constexpr std::size_t kMinKey = 16;
constexpr std::size_t kMaxKey = 4096;

class KeyAuthenticator : public Authenticator {
 public:
  explicit KeyAuthenticator(std::string key) : key_(std::move(key)) {}

  Result<Credential> prove(const Claim& claim) override {
    return Credential{hmac_sha256(key_, claim.text()), share(claim)};
  }

  Result<std::string> verify(const Claim& claim, const std::string& credential) override {
    if (!equal_secrets(credential, hmac_sha256(key_, claim.text()))) {
      return fail(ExitCode::kFabric, "the other launcher has a different key file");
    }
    return share(claim);
  }

 private:
  std::string share(const Claim& claim) const {
    return hmac_sha256(key_, "share\n" + claim.text());
  }

  std::string key_;
};

}  // namespace

Result<std::unique_ptr<Authenticator>> make_key_authenticator(const std::string& path) {
  // Symbolic links are followed: Kubernetes mounts a secret through two of them.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return fail(ExitCode::kUsage, fmt::format("key file {}: {}", path, std::strerror(errno)));
  }
  struct stat info {};
  std::string key(kMaxKey + 1, '\0');
  ssize_t length = -1;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) length = read(fd, key.data(), key.size());
  close(fd);
  if (length < 0) return fail(ExitCode::kUsage, fmt::format("key file {}: not readable", path));
  key.resize(static_cast<std::size_t>(length));
  const bool own = info.st_uid == 0 || info.st_uid == geteuid();
  // Kubernetes gives a secret to a user by the pod's group; root reads it without one.
  const bool by_group = geteuid() != 0 && info.st_uid == 0;
  if (!own || (info.st_mode & (S_IWGRP | S_IXGRP | S_IRWXO | (by_group ? 0 : S_IRGRP))) != 0) {
    return fail(ExitCode::kUsage,
                fmt::format("key file {}: others can read or change it; make it root's (or your "
                            "own) and chmod 600 it",
                            path));
  }
  // A key written by `echo` on one node and `printf` on another is the same key.
  while (!key.empty() && (key.back() == '\n' || key.back() == '\r')) key.pop_back();
  if (key.size() < kMinKey || key.size() > kMaxKey) {
    return fail(ExitCode::kUsage,
                fmt::format("key file {}: must hold {} to {} bytes", path, kMinKey, kMaxKey));
  }
  return std::make_unique<KeyAuthenticator>(std::move(key));
}

}  // namespace stage_model::launch
