// What both sides of a new connection share: who they are and how the link's keys come about.
//
//   child → parent  kHello {job, child, parent, nonce}      parent → child  kChallenge {nonce}
//   child → parent  kProof {credential}                     parent → child  kWelcome {credential}
//
// Before the other side is proven, nothing of it is looked at but these four, each at most 4 KiB.
#pragma once

#include <string>

#include "engine/launch/auth.h"
#include "engine/launch/link.h"

namespace stage_model::launch {

inline constexpr double kGreetingTimeout = 5;  // seconds, for the whole handshake

// Keys for Link::secure from both sides' shares.
struct LinkKeys {
  std::string up;    // child → parent
  std::string down;  // parent → child
};
LinkKeys make_keys(const std::string& child_share, const std::string& parent_share,
                   const Claim& claim);

}  // namespace stage_model::launch
