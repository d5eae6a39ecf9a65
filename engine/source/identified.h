// The part of a source that is the same wherever one has to say who one is.
#pragma once

#include <string>
#include <utility>

#include "engine/auth/identity.h"
#include "engine/source/source.h"

namespace stage_model::source {

class IdentifiedSource : public Source {
 public:
  std::string identity() const override { return identity_->describe(); }
  std::string handover() const override { return identity_->handover(); }
  Status accept(const std::string& handover) override { return identity_->accept(handover); }

  Result<std::string> whoami() override {
    if (Status status = prepare_identity(); !status) return tl::unexpected(status.error());
    std::string out = display() + ": " + identity_->describe();
    for (const std::string& why : identity_->passed_over()) out += "\n  not " + why;
    return out;
  }

 protected:
  explicit IdentifiedSource(auth::IdentityPtr identity = nullptr)
      : identity_(std::move(identity)) {}

  // The model's URL for messages, without secrets.
  virtual std::string display() const = 0;

  // Fetches the proof, where one has to be fetched. Errors: kSource, naming the model.
  Status prepare_identity() const { return of_model(identity_->prepare()); }

  // With the model's name in front, if it is an error.
  Status of_model(Status status) const {
    if (!status) status.error().message.insert(0, display() + ": ");
    return status;
  }

  auth::IdentityPtr identity_;
};

}  // namespace stage_model::source
