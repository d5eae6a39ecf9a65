// What Google Cloud Storage means by its answers, in words that its users can act on.
#pragma once

#include <optional>
#include <string>

#include "engine/auth/identity.h"
#include "engine/http/dialect.h"

namespace stage_model::source {

class GcsDialect final : public http::Dialect {
 public:
  GcsDialect(std::string bucket, auth::IdentityPtr identity)
      : bucket_(std::move(bucket)), identity_(std::move(identity)) {}

  // The version is in the query of each GET; the ETag of an answer changes with metadata too.
  bool same_etags() const override { return false; }
  std::optional<Error> explain(const http::Failure& failure) const override;

 private:
  std::string advice(const http::Failure& failure) const;

  const std::string bucket_;
  const auth::IdentityPtr identity_;
};

}  // namespace stage_model::source
