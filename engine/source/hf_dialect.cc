#include "engine/source/hf_dialect.h"

#include <fmt/format.h>

#include <utility>

#include "engine/http/headers.h"
#include "engine/source/lfs_pointer.h"
#include "engine/source/refusal.h"
#include "engine/source/show.h"

namespace stage_model::source {

HfDialect::HfDialect(HfUrl url, auth::IdentityPtr identity)
    : url_(std::move(url)), identity_(std::move(identity)) {}

std::string HfDialect::advice(const http::Failure& failure, const std::string& code) const {
  const bool anonymous = identity_->describe() == "anonymous";
  const std::string page = url_.origin + url_.base + "/" +
                           (url_.kind == "models" ? "" : url_.kind + "/") + url_.repository;
  const int status = failure.response.status;
  if (code == "GatedRepo") {
    return anonymous
               ? fmt::format("the repository is gated: accept its terms at {}, then set HF_TOKEN",
                             page)
               : fmt::format(
                     "the repository is gated and this token's user has no access: accept "
                     "its terms at {}; a fine-grained token also needs the right to read "
                     "gated repositories",
                     page);
  }
  if (code == "RevisionNotFound") {
    return fmt::format("the repository has no revision '{}': check the branch, tag or commit",
                       show(url_.revision));
  }
  if (code == "EntryNotFound") return "the file is not in this revision: was it rewritten?";
  if (code == "DisabledRepo") return "the hub has disabled this repository";
  if (code == "RepoNotFound" || (code.empty() && status == 404)) {
    return anonymous ? fmt::format(
                           "there is no such repository, or it is private: check the name "
                           "({}), or set HF_TOKEN",
                           page)
                     : fmt::format(
                           "there is no such repository, or this token may not see it: "
                           "check the name ({})",
                           page);
  }
  if (status == 401 && !anonymous) return "the token is not accepted: has it been revoked?";
  if (status == 401) return "not without a token: set HF_TOKEN";
  if (status == 403) return "this token lacks the right to read the repository";
  return "refused";
}

std::optional<Error> HfDialect::explain(const http::Failure& failure) const {
  const http::Response& response = failure.response;
  if (failure.kind == http::Kind::kChanged && response.status != 0) {
    const auto range = http::parse_content_range(http::header(response.headers, "content-range"));
    const auto length = http::parse_number(http::header(response.headers, "content-length"));
    const auto size = range ? range->total : length;
    if (size && *size <= kLargestPointer) {
      return Error{ExitCode::kIntegrity,
                   fmt::format("{}: {} serves {} bytes in its place, perhaps the pointer that git "
                               "LFS keeps for it: the repository or the mirror lacks the file",
                               failure.what, failure.host, *size)};
    }
    return std::nullopt;
  }
  if (failure.kind == http::Kind::kThrottled) {
    return Error{ExitCode::kTransfer,
                 fmt::format("{}: {} limits requests (HTTP {}) and has not let us in again: try "
                             "later{}",
                             failure.what, failure.host, response.status,
                             identity_->describe() == "anonymous"
                                 ? ", or set HF_TOKEN, which has a higher limit"
                                 : ", or use a mirror by HF_ENDPOINT")};
  }
  if (failure.kind != http::Kind::kRefused || response.status < 400) return std::nullopt;
  if (!url_.origin.ends_with("/" + failure.host)) return std::nullopt;  // a CDN's own refusal
  const std::string code = plain(http::header(response.headers, "x-error-code"));
  std::string facts = fmt::format("HTTP {}", response.status);
  if (!code.empty()) facts += " " + code;
  const std::string id = plain(http::header(response.headers, "x-request-id"));
  if (!id.empty()) facts += ", request id " + id;
  return Error{ExitCode::kSource,
               fmt::format("{}: {} ({}, {}, as {})", failure.what, advice(failure, code), facts,
                           failure.host, identity_->describe())};
}

}  // namespace stage_model::source
