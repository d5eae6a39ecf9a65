#include "engine/launch/handshake.h"

namespace stage_model::launch {

LinkKeys make_keys(const std::string& child_share, const std::string& parent_share,
                   const Claim& claim) {
  Claim connection = claim;
  connection.role = Claim::Role::kChild;  // both sides must get the same text
  const std::string master = hmac_sha256(child_share + parent_share, connection.text());
  return {hmac_sha256(master, "up"), hmac_sha256(master, "down")};
}

}  // namespace stage_model::launch
