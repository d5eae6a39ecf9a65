// Who we are to a store. One file per identity; azure.cc chooses among those of Azure.
#pragma once

#include <ctime>
#include <memory>
#include <string>

#include "engine/auth/request.h"
#include "stage_model/result.h"

namespace stage_model::auth {

// Thread-safe after construction.
class Identity {
 public:
  virtual ~Identity() = default;

  // Adds what proves the identity. Called right before every attempt, since some proofs hold for
  // minutes only. Must not block. Errors: kSource.
  virtual Status sign(Request& request) const = 0;

  // Can it work at `now` at all? Asked before anything is sent. Errors: kSource.
  virtual Status check(std::time_t now) const = 0;

  // For messages: "shared key of account X", "SAS (expires …)". No secrets.
  virtual std::string describe() const = 0;
};

using IdentityPtr = std::shared_ptr<const Identity>;

}  // namespace stage_model::auth
