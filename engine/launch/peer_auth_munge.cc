#include <fmt/format.h>
#include <munge.h>
#include <unistd.h>

#include <cstdlib>

#include "engine/launch/peer_auth.h"

namespace stage_model::launch {
namespace {

constexpr std::size_t kShareSize = 32;
constexpr int kTtlSeconds = 60;

struct ContextDeleter {
  void operator()(munge_ctx_t context) const { munge_ctx_destroy(context); }
};
using Context = std::unique_ptr<munge_ctx, ContextDeleter>;

struct Free {
  void operator()(void* memory) const { std::free(memory); }  // NOLINT: libmunge uses malloc
};

class MungeAuthenticator : public Authenticator {
 public:
  explicit MungeAuthenticator(std::string socket) : socket_(std::move(socket)) {}

  Result<Credential> prove(const Claim& claim) override {
    const Context context = make_context();
    if (!context) return fail(ExitCode::kFabric, "munge: out of memory");
    // Only launchers of the same uid (root) can decode it: the share inside is a secret.
    munge_ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, geteuid());
    munge_ctx_set(context.get(), MUNGE_OPT_TTL, kTtlSeconds);
    Credential credential;
    credential.share = random_bytes(kShareSize);
    const std::string payload = claim.text() + credential.share;
    char* text = nullptr;
    const munge_err_t error =
        munge_encode(&text, context.get(), payload.data(), static_cast<int>(payload.size()));
    const std::unique_ptr<char, Free> owner(text);
    if (error != EMUNGE_SUCCESS) return failure("cannot make a munge credential", context, error);
    credential.text = text;
    return credential;
  }

  Result<std::string> verify(const Claim& claim, const std::string& credential) override {
    const Context context = make_context();
    if (!context) return fail(ExitCode::kFabric, "munge: out of memory");
    void* payload = nullptr;
    int length = 0;
    uid_t uid = static_cast<uid_t>(-1);
    gid_t gid = static_cast<gid_t>(-1);
    const munge_err_t error =
        munge_decode(credential.c_str(), context.get(), &payload, &length, &uid, &gid);
    // libmunge hands out a payload for expired and replayed credentials too.
    const std::unique_ptr<void, Free> owner(payload);
    if (error != EMUNGE_SUCCESS) return failure("munge credential refused", context, error);
    if (uid != geteuid()) {
      return fail(ExitCode::kFabric,
                  fmt::format("munge credential of uid {}, not of uid {}", uid, geteuid()));
    }
    const std::string expected = claim.text();
    const std::string text(static_cast<const char*>(payload), static_cast<std::size_t>(length));
    if (text.size() != expected.size() + kShareSize ||
        !equal_secrets(text.substr(0, expected.size()), expected)) {
      return fail(ExitCode::kFabric, "munge credential made for another job or connection");
    }
    return text.substr(expected.size());
  }

 private:
  Context make_context() const {
    Context context(munge_ctx_create());
    if (context && !socket_.empty()) {
      munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket_.c_str());
    }
    return context;
  }

  static tl::unexpected<Error> failure(const char* what, const Context& context,
                                       munge_err_t error) {
    const char* detail = munge_ctx_strerror(context.get());
    return fail(
        ExitCode::kFabric,
        fmt::format("{}: {} (munged must run here, with the same key and clock on all nodes)", what,
                    detail != nullptr ? detail : munge_strerror(error)));
  }

  std::string socket_;
};

}  // namespace

std::unique_ptr<Authenticator> make_munge_authenticator(std::string socket) {
  return std::make_unique<MungeAuthenticator>(std::move(socket));
}

}  // namespace stage_model::launch
