// What Azure Blob storage means by its errors, and what a user can do about each.
#pragma once

#include <string>

#include "engine/auth/identity.h"
#include "engine/http/dialect.h"

namespace stage_model::source {

class AzureDialect final : public http::Dialect {
 public:
  AzureDialect(std::string account, std::string container, auth::IdentityPtr identity);

  http::Kind classify(const http::Response& response) const override;
  bool proof_refused(const http::Response& response) const override;
  std::optional<Error> explain(const http::Failure& failure) const override;

 private:
  std::string advice(const http::Failure& failure, const std::string& code) const;
  std::string advice_for_denied(const http::Failure& failure, const std::string& code) const;

  std::string account_, container_;
  auth::IdentityPtr identity_;
};

}  // namespace stage_model::source
