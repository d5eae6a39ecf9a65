#include "engine/source/s3_dialect.h"

#include <fmt/format.h>

#include <utility>

#include "engine/source/refusal.h"
#include "engine/source/s3_url.h"
#include "engine/source/xml.h"

namespace stage_model::source {
namespace {

std::string error_code(const http::Response& response) {
  return plain(parse_xml_error(response.body).code);
}

std::string named_region(const http::Response& response) {
  std::string region(http::header(response.headers, "x-amz-bucket-region"));
  if (region.empty()) region = parse_xml_error(response.body).region;
  return is_region(region) ? region : "";
}

// "You are talking to the wrong region", in its several forms.
bool wrong_region(int status, const std::string& code) {
  return status == 301 || status == 307 || code == "PermanentRedirect" ||
         code == "TemporaryRedirect" || code == "AuthorizationHeaderMalformed" ||
         code == "IllegalLocationConstraintException" || (status == 400 && code.empty());
}

}  // namespace

void S3Dialect::set(auth::IdentityPtr identity, std::string region) {
  identity_ = std::move(identity);
  region_ = std::move(region);
  const MutexLock lock(mutex_);
  other_region_.clear();
}

std::string S3Dialect::other_region() const {
  const MutexLock lock(mutex_);
  return other_region_;
}

http::Kind S3Dialect::classify(const http::Response& response) const {
  const std::string code = error_code(response);
  if (code == "SlowDown" || code == "RequestLimitExceeded") return http::Kind::kThrottled;
  // S3's word for a connection that it gave up on.
  if (response.status == 400 && code == "RequestTimeout") return http::Kind::kServer;
  return Dialect::classify(response);
}

bool S3Dialect::proof_refused(const http::Response& response) const {
  if (response.status != 400 && response.status != 401 && response.status != 403) return false;
  const std::string code = error_code(response);
  return code == "ExpiredToken" || code == "ExpiredTokenException" ||
         code == "TokenRefreshRequired";
}

std::string S3Dialect::advice_for_denied(const http::Failure& failure,
                                         const std::string& code) const {
  if (std::string clock = clock_advice(failure.response, code == "RequestTimeTooSkewed");
      !clock.empty())
    return clock;
  if (code == "InvalidAccessKeyId") {
    return "the server does not know this access key: is it of this account and this endpoint, and "
           "is AWS_SESSION_TOKEN missing?";
  }
  if (code == "SignatureDoesNotMatch") {
    return "the signature is not accepted: copy AWS_SECRET_ACCESS_KEY again";
  }
  if (code == "AllAccessDisabled") return fmt::format("bucket '{}' is disabled", bucket_);
  if (identity_->describe().starts_with("anonymous")) {
    return "no public access: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or "
           "give the node a role";
  }
  if (identity_->describe().starts_with("role of the EC2 instance")) {
    return "not allowed for the instance's role: it needs s3:ListBucket on the bucket and "
           "s3:GetObject on the objects; a public bucket is read without it by "
           "AWS_EC2_METADATA_DISABLED=true";
  }
  return "not allowed for this identity: it needs s3:ListBucket on the bucket and s3:GetObject on "
         "the objects (and kms:Decrypt where they are encrypted with a key of KMS)";
}

std::string S3Dialect::advice(const http::Failure& failure, const std::string& code) const {
  const int status = failure.response.status;
  if (code == "NoSuchBucket") {
    return fmt::format("there is no bucket '{}': check the URL", bucket_);
  }
  if (code == "InvalidObjectState" || status == 403) {
    if (code == "InvalidObjectState") {
      return "the object is archived: restore it first (aws s3api restore-object), or stage a "
             "prefix without it";
    }
    return advice_for_denied(failure, code);
  }
  if (code == "ExpiredToken" || code == "ExpiredTokenException" || code == "TokenRefreshRequired") {
    return "the temporary keys have expired: get new ones";
  }
  if (code == "InvalidToken") return "AWS_SESSION_TOKEN is not one of these keys";
  if (wrong_region(status, code)) {
    const std::string region = named_region(failure.response);
    if (!region.empty() && region != region_) {
      return fmt::format("bucket '{}' is in region {}, not {}: set AWS_REGION={}", bucket_, region,
                         region_, region);
    }
    if (status < 400) {
      return fmt::format("bucket '{}' is elsewhere than in region {}: set AWS_REGION", bucket_,
                         region_);
    }
  }
  if (status == 404) return "not found: deleted since it was listed, or a wrong URL";
  if (status == 401) return advice_for_denied(failure, code);
  if (status == 400 || status == 405 || status == 501) {
    return "the request is not understood: is this the endpoint of an S3 service?";
  }
  return "refused";
}

std::optional<Error> S3Dialect::explain(const http::Failure& failure) const {
  if (failure.kind == http::Kind::kDns) {
    return Error{
        ExitCode::kSource,
        fmt::format("{}: the name {} cannot be resolved: is region '{}' right (AWS_REGION, "
                    "AWS_ENDPOINT_URL), and does this node's DNS work?",
                    failure.what, failure.host, region_)};
  }
  if (failure.kind != http::Kind::kRefused) return std::nullopt;
  const std::string code = error_code(failure.response);
  if (wrong_region(failure.response.status, code)) {
    if (std::string region = named_region(failure.response); region != region_) {
      const MutexLock lock(mutex_);
      other_region_ = std::move(region);
    }
  }
  return Error{ExitCode::kSource, fmt::format("{}: {} ({})", failure.what, advice(failure, code),
                                              refusal_facts(failure, code, "x-amz-request-id",
                                                            "request id", identity_->describe()))};
}

}  // namespace stage_model::source
