// How launchers prove to each other that they are root on a node of this cluster (munge), or know
// the same secret (key file), and how a connection's keys come about:
//
//   child → parent  kHello {job, child, parent, nonce}      parent → child  kChallenge {nonce}
//   child → parent  kCredential {credential}                parent → child  kWelcome {credential}
//
// Before the other side is proven, nothing of it is looked at but these four, each at most 4 KiB.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/base/crypto.h"
#include "stage_model/config.h"
#include "stage_model/result.h"

namespace stage_model::launch {

// What a credential is bound to. Both nonces are fresh, so an old credential is worth nothing, and
// the role keeps one from being sent back to whom it came from.
struct Claim {
  enum class Role { kChild, kParent };
  Role role = Role::kChild;
  std::string job;
  std::uint32_t child = 0;
  std::uint32_t parent = 0;
  std::string child_nonce;
  std::string parent_nonce;

  std::string text() const;
};

struct Credential {
  std::string text;   // travels; at most kMaxGreeting bytes
  std::string share;  // known to both sides once the credential is verified, to nobody else
};

class Authenticator {
 public:
  virtual ~Authenticator() = default;
  virtual Result<Credential> prove(const Claim& claim) = 0;
  // The other side's share. Errors: kFabric; the message says what was wrong, never a secret.
  virtual Result<std::string> verify(const Claim& claim, const std::string& credential) = 0;
};

// munge. `socket` empty: libmunge's default. A call blocks for a few seconds at most (libmunge's
// own limit) when munged does not answer. The other side must have the caller's uid: 0 for root.
std::unique_ptr<Authenticator> make_munge_authenticator(std::string socket);

// HMAC-SHA256 with the content of a file of at least 16 bytes that no other user can read or
// change.
Result<std::unique_ptr<Authenticator>> make_key_authenticator(const std::string& path);

// A key file where one is configured, else munge.
Result<std::unique_ptr<Authenticator>> make_authenticator(const Config& config);

inline constexpr double kGreetingTimeout = 5;  // seconds, for the whole handshake

// Keys for Link::secure from both sides' shares.
struct LinkKeys {
  std::string up;    // child → parent
  std::string down;  // parent → child
};
LinkKeys make_keys(const std::string& child_share, const std::string& parent_share,
                   const Claim& claim);

std::string random_bytes(std::size_t count);
bool equal_secrets(const std::string& a, const std::string& b);  // in constant time

}  // namespace stage_model::launch
