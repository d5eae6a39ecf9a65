// Who we are to a store. One file per identity; azure.cc chooses among those of Azure.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "engine/http/request.h"
#include "stage_model/result.h"

namespace stage_model::auth {

// Thread-safe after construction. What the client asks of it while it transfers is http::Signer.
class Identity : public http::Signer {
 public:
  // Can it work at `now` at all? Asked before anything is sent. Errors: kSource.
  virtual Status check(std::time_t now) const = 0;

  // For messages: "shared key of account X", "SAS (expires …)". No secrets.
  virtual std::string describe() const = 0;

  // Good for one object only, which it cannot list.
  virtual bool for_one_object() const { return false; }

  // Signs with an account's key, which only the store can say whether it accepts; renew() may turn
  // to another proof.
  virtual bool by_key() const { return false; }

  // Identities that were looked for before this one, and why each is not used: for --whoami. After
  // prepare(). No secrets.
  virtual std::vector<std::string> passed_over() const { return {}; }

  // For proofs that are fetched and run out (tokens); credential_cache.h has it.

  // Fetches the first proof, unless one is there. Blocks; every wait has a limit. Rank 0, before it
  // lists; others only where nothing was handed over. Errors: kSource.
  virtual Status prepare() const { return {}; }

  // One rank's proof for the others, so that a job asks for one: SECRET bytes, never logged or
  // stored, or "". accept() takes it on the other ranks, before anything is signed.
  virtual std::string handover() const { return {}; }
  virtual Status accept(const std::string& handover) const {
    (void)handover;
    return {};
  }
};

using IdentityPtr = std::shared_ptr<const Identity>;

}  // namespace stage_model::auth
