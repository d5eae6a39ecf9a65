#include "spank/seal.h"

#include <dlfcn.h>
#include <munge.h>

#include <cstdlib>
#include <memory>

#include "engine/base/text.h"

namespace stage_model::spank {
namespace {

constexpr std::string_view kByMunge = "munge:";
constexpr std::string_view kPlain = "plain:";

// What is used of libmunge. Never unloaded: its host process may have it as well.
struct Munge {
  decltype(&munge_ctx_create) create = nullptr;
  decltype(&munge_ctx_destroy) destroy = nullptr;
  decltype(&munge_ctx_set) set = nullptr;
  decltype(&munge_encode) encode = nullptr;
  decltype(&munge_decode) decode = nullptr;
  decltype(&munge_strerror) message = nullptr;
  [[nodiscard]] bool usable() const {
    return create != nullptr && destroy != nullptr && set != nullptr && encode != nullptr &&
           decode != nullptr && message != nullptr;
  }
};

Munge load_munge() {
  Munge munge;
  void* library = ::dlopen("libmunge.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return munge;
  const auto find = [library](auto& function, const char* name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
  };
  find(munge.create, "munge_ctx_create");
  find(munge.destroy, "munge_ctx_destroy");
  find(munge.set, "munge_ctx_set");
  find(munge.encode, "munge_encode");
  find(munge.decode, "munge_decode");
  find(munge.message, "munge_strerror");
  return munge;
}

// Owns the context and what libmunge hands out.
class Session {
 public:
  Session(const Munge& munge, const std::string& socket) : munge_(munge), context_(munge.create()) {
    if (context_ != nullptr && !socket.empty()) {
      munge_.set(context_, MUNGE_OPT_SOCKET, socket.c_str());
    }
  }
  ~Session() {
    if (context_ != nullptr) munge_.destroy(context_);
    std::free(memory_);  // NOLINT: libmunge uses malloc
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::string encode(std::string_view secret) {
    if (context_ == nullptr) return {};
    munge_.set(context_, MUNGE_OPT_UID_RESTRICTION, static_cast<uid_t>(0));
    munge_.set(context_, MUNGE_OPT_TTL, MUNGE_TTL_MAXIMUM);
    char* credential = nullptr;
    const munge_err_t error =
        munge_.encode(&credential, context_, secret.data(), static_cast<int>(secret.size()));
    memory_ = credential;
    return error == EMUNGE_SUCCESS ? credential : std::string();
  }

  Result<std::string> decode(const std::string& credential, uid_t owner) {
    if (context_ == nullptr) return fail(ExitCode::kStopped, "munge: out of memory");
    int length = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    const munge_err_t error =
        munge_.decode(credential.c_str(), context_, &memory_, &length, &uid, &gid);
    // Older than munge thinks right, and seen before: both as it should be. What is inside is
    // whole.
    const bool whole =
        error == EMUNGE_SUCCESS || error == EMUNGE_CRED_EXPIRED || error == EMUNGE_CRED_REPLAYED;
    if (!whole) {
      return fail(ExitCode::kStopped,
                  std::string("the job's credentials cannot be opened (munge: ") +
                      munge_.message(error) + "): is munged here, and is its key the cluster's?");
    }
    if (uid != owner && uid != 0) {  // root submits for others (sbatch --uid)
      return fail(ExitCode::kUsage, "the credentials that came with the job are another user's");
    }
    return std::string(static_cast<const char*>(memory_), static_cast<std::size_t>(length));
  }

 private:
  const Munge& munge_;
  munge_ctx_t context_;
  void* memory_ = nullptr;
};

tl::unexpected<Error> damaged() {
  return fail(ExitCode::kUsage,
              "the credentials that came with the job are damaged: submit it again");
}

Result<std::string> open_plain(std::string_view digits) {
  std::string secret = from_hex(digits, digits.size() / 2);
  if (secret.size() * 2 == digits.size()) return secret;
  return damaged();
}

}  // namespace

std::string seal(std::string_view secret, const std::string& socket) {
  const Munge munge = load_munge();
  if (munge.usable()) {
    const std::string credential = Session(munge, socket).encode(secret);
    if (!credential.empty()) return std::string(kByMunge) + credential;
  }
  return std::string(kPlain) + to_hex(secret);
}

Result<std::string> unseal(std::string_view sealed, uid_t owner, const std::string& socket) {
  if (sealed.starts_with(kPlain)) return open_plain(sealed.substr(kPlain.size()));
  if (!sealed.starts_with(kByMunge)) return damaged();
  const Munge munge = load_munge();
  if (!munge.usable()) {
    return fail(ExitCode::kStopped,
                "the job's credentials are sealed by munge, and libmunge is not on this node");
  }
  return Session(munge, socket).decode(std::string(sealed.substr(kByMunge.size())), owner);
}

}  // namespace stage_model::spank
