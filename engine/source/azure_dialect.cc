#include "engine/source/azure_dialect.h"

#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "engine/source/refusal.h"
#include "engine/source/xml.h"

namespace stage_model::source {
namespace {

constexpr char kNoKeys[] = "KeyBasedAuthenticationNotPermitted";
constexpr char kGetAnIdentity[] =
    "set AZURE_STORAGE_SAS_TOKEN, or AZURE_STORAGE_KEY, or log in (stage-engine --whoami URL says "
    "what was looked for)";

std::string error_code(const http::Response& response) {
  const auto code = http::header(response.headers, "x-ms-error-code");
  return plain(code.empty() ? parse_xml_error(response.body).code : code);
}

}  // namespace

AzureDialect::AzureDialect(std::string account, std::string container, auth::IdentityPtr identity)
    : account_(std::move(account)),
      container_(std::move(container)),
      identity_(std::move(identity)) {}

http::Kind AzureDialect::classify(const http::Response& response) const {
  // How Azure says "too busy" for a partition.
  if (response.status == 500 && error_code(response) == "OperationTimedOut") {
    return http::Kind::kThrottled;
  }
  return Dialect::classify(response);
}

bool AzureDialect::proof_refused(const http::Response& response) const {
  // The account accepts no keys; also late, when another request has turned to a token already.
  if (error_code(response) == kNoKeys) return true;
  return !identity_->by_key() && Dialect::proof_refused(response);
}

std::string AzureDialect::advice_for_denied(const http::Failure& failure,
                                            const std::string& code) const {
  // A signature that ran out meanwhile explains a refusal better than the server does.
  if (Status status = identity_->check(std::time(nullptr)); !status) return status.error().message;
  if (std::string clock = clock_advice(failure.response); !clock.empty()) return clock;
  if (identity_->describe().starts_with("anonymous")) {
    return std::string(
               "not allowed without an identity, and none was found (or a firewall rule of "
               "the account keeps this node out): ") +
           kGetAnIdentity;
  }
  if (code == "AuthorizationPermissionMismatch") {
    return "the identity lacks a data role here: grant 'Storage Blob Data Reader', or read and "
           "list in the SAS";
  }
  if (code == "AuthorizationFailure") {
    return "not allowed: a firewall or private endpoint rule of the account, missing rights of the "
           "identity, or a key that is not this account's";
  }
  if (code == "AuthorizationSourceIPMismatch") {
    return "the SAS is bound to other addresses (sip=) than this node's";
  }
  if (code == kNoKeys) {
    return fmt::format(
        "account {} does not accept keys or SAS made with them: use another identity", account_);
  }
  if (code == "AccountIsDisabled") return fmt::format("account {} is disabled", account_);
  if (code == "AuthenticationFailed" || code == "InvalidAuthenticationInfo") {
    const std::string who = identity_->describe();
    return who.starts_with("shared key") || who.starts_with("SAS")
               ? "the key or signature is not accepted: copy it again; is it of this account?"
               : "the token is not accepted: is it of this account's tenant?";
  }
  return "not allowed for this identity";
}

std::string AzureDialect::advice(const http::Failure& failure, const std::string& code) const {
  const int status = failure.response.status;
  if (code == "ContainerNotFound") {
    return fmt::format("there is no container '{}' in account {}: check the URL", container_,
                       account_);
  }
  if (code == "PublicAccessNotPermitted" || code == "NoAuthenticationInformation" ||
      (code == "ResourceNotFound" && identity_->describe().starts_with("anonymous"))) {
    return std::string("no public access, and no identity was found: ") + kGetAnIdentity;
  }
  if (code == "BlobArchived") return "the blob is archived: bring it back to Hot or Cool first";
  // Where the name of an unknown account leads to a server at all: an emulator, a private endpoint.
  if (code == "ResourceNotFound" || code == "AccountNotFound") {
    return fmt::format("there is no account '{}' at this endpoint: check the URL", account_);
  }
  if (code == "BlobNotFound") return "there is no such blob: deleted since it was listed?";
  if (status == 404) return "not found: is this the endpoint of a blob service?";
  if (status == 401 || status == 403) {
    // Nobody chose these: perhaps nobody knows that they are in use.
    const std::string who = identity_->describe();
    const bool implicit = who.starts_with("managed identity") || who.starts_with("Azure CLI");
    return advice_for_denied(failure, code) +
           (implicit ? "; a public container is read without it by AZURE_STORAGE_ANON=true" : "");
  }
  if (code == "InvalidQueryParameterValue" || code == "InvalidUri" || status == 400) {
    return "the request is not understood: is this the endpoint of a blob service?";
  }
  return "refused";
}

std::optional<Error> AzureDialect::explain(const http::Failure& failure) const {
  if (failure.kind == http::Kind::kDns) {
    return Error{ExitCode::kSource,
                 fmt::format("{}: the name {} cannot be resolved: is '{}' the right storage "
                             "account, and does this node's DNS work?",
                             failure.what, failure.host, account_)};
  }
  if (failure.kind == http::Kind::kTls && failure.host.find(".privatelink.") != std::string::npos) {
    return Error{ExitCode::kSource,
                 fmt::format("{}: no trusted connection to {}: use the account's ordinary name, "
                             "without privatelink: the certificate is for that one, and the "
                             "network's DNS leads it to the private endpoint",
                             failure.what, failure.host)};
  }
  const int status = failure.response.status;
  if (failure.kind != http::Kind::kRefused || (status >= 300 && status < 400)) return std::nullopt;
  const std::string code = error_code(failure.response);
  return Error{ExitCode::kSource, fmt::format("{}: {} ({})", failure.what, advice(failure, code),
                                              refusal_facts(failure, code, "x-ms-request-id",
                                                            "request id", identity_->describe()))};
}

}  // namespace stage_model::source
