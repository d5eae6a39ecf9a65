// What the Hugging Face Hub means by its errors, and what a user can do about each.
#pragma once

#include <string>

#include "engine/auth/identity.h"
#include "engine/http/dialect.h"
#include "engine/source/hf_url.h"

namespace stage_model::source {

class HfDialect final : public http::Dialect {
 public:
  HfDialect(HfUrl url, auth::IdentityPtr identity);

  // To its CDNs, whose ETags are their own: versions are pinned by the commit instead.
  bool redirects() const override { return true; }
  bool same_etags() const override { return false; }
  std::optional<Error> explain(const http::Failure& failure) const override;

 private:
  std::string advice(const http::Failure& failure, const std::string& code) const;

  HfUrl url_;
  auth::IdentityPtr identity_;
};

}  // namespace stage_model::source
