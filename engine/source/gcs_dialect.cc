#include "engine/source/gcs_dialect.h"

#include <fmt/format.h>

#include "engine/source/gcs_list.h"
#include "engine/source/refusal.h"

namespace stage_model::source {

std::string GcsDialect::advice(const http::Failure& failure) const {
  const int status = failure.response.status;
  const GcsError error = parse_gcs_error(failure.response.body);
  if (status == 404 && error.message.find("bucket") != std::string::npos) {
    return fmt::format("there is no bucket '{}': check the URL", bucket_);
  }
  if (status == 404) return "not found: deleted since it was listed, or a wrong URL";
  if (error.reason == "userProjectMissing" ||
      (status == 400 && error.message.find("requester pays") != std::string::npos)) {
    return fmt::format("bucket '{}' makes the requester pay, which is not supported", bucket_);
  }
  if (status == 401 || status == 403) {
    if (identity_->describe().starts_with("anonymous")) {
      return "no public access: set GOOGLE_APPLICATION_CREDENTIALS, log in by 'gcloud auth "
             "application-default login' ('gcloud auth login' is for gcloud alone), or give the "
             "node a service account";
    }
    if (status == 401) return "the token is not accepted: is the key or the account disabled?";
    if (error.message.find("scope") != std::string::npos) {
      return "the node's service account lacks a storage scope: devstorage.read_only";
    }
    return "not allowed for this identity: grant it 'Storage Object Viewer' on the bucket";
  }
  if (status == 400 || status == 405) {
    return "the request is not understood: is this the endpoint of Cloud Storage?";
  }
  return "refused";
}

std::optional<Error> GcsDialect::explain(const http::Failure& failure) const {
  const int status = failure.response.status;
  if (failure.kind != http::Kind::kRefused || (status >= 300 && status < 400)) return std::nullopt;
  const std::string reason = plain(parse_gcs_error(failure.response.body).reason);
  return Error{ExitCode::kSource, fmt::format("{}: {} ({})", failure.what, advice(failure),
                                              refusal_facts(failure, reason, "x-guploader-uploadid",
                                                            "upload id", identity_->describe()))};
}

}  // namespace stage_model::source
