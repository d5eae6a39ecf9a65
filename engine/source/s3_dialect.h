// What S3 means by its answers, in words that its users can act on.
#pragma once

#include <optional>
#include <string>

#include "engine/auth/identity.h"
#include "engine/base/mutex.h"
#include "engine/http/dialect.h"

namespace stage_model::source {

// Thread-safe.
class S3Dialect final : public http::Dialect {
 public:
  explicit S3Dialect(std::string bucket) : bucket_(std::move(bucket)) {}

  // Whom messages name; the region that requests are signed for. Before the first request.
  void set(auth::IdentityPtr identity, std::string region);

  http::Kind classify(const http::Response& response) const override;
  bool proof_refused(const http::Response& response) const override;
  std::optional<Error> explain(const http::Failure& failure) const override;

  // The region that the last refusal named as the bucket's, if it is another than ours; "" if none.
  std::string other_region() const;

 private:
  std::string advice(const http::Failure& failure, const std::string& code) const;
  std::string advice_for_denied(const http::Failure& failure, const std::string& code) const;

  std::string bucket_, region_;
  auth::IdentityPtr identity_;
  mutable Mutex mutex_;
  mutable std::string other_region_ STAGE_GUARDED_BY(mutex_);
};

}  // namespace stage_model::source
