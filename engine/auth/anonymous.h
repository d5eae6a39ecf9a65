// No proof at all: public containers.
#pragma once

#include <string>
#include <utility>

#include "engine/auth/identity.h"

namespace stage_model::auth {

class Anonymous final : public Identity {
 public:
  // `why`: what was found but could not be used, for messages; may be empty.
  explicit Anonymous(std::string why = {}) : why_(std::move(why)) {}

  Status sign(http::Request&) const override { return {}; }
  Status check(std::time_t) const override { return {}; }
  std::string describe() const override {
    return why_.empty() ? "anonymous" : "anonymous (" + why_ + ")";
  }

 private:
  std::string why_;
};

}  // namespace stage_model::auth
