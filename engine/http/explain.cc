#include "engine/http/explain.h"

#include <fmt/format.h>

#include "engine/http/redact.h"

namespace stage_model::http {
namespace {

std::string attempts(const Failure& failure) {
  return failure.attempts > 1 ? fmt::format(" after {} attempts", failure.attempts) : "";
}

std::string place(const Failure& failure) {
  std::string out = failure.host;
  if (!failure.ip.empty() && failure.host.find(failure.ip) == std::string::npos) {
    out += " (" + failure.ip + ")";
  }
  if (!failure.proxy.empty()) out += " by proxy " + failure.proxy;
  return out;
}

std::string reason(const Failure& failure) {
  switch (failure.kind) {
    case Kind::kThrottled:
      return fmt::format(
          "{} throttles (HTTP {}): try later, or lower --concurrency or "
          "--max-bandwidth",
          place(failure), failure.response.status);
    case Kind::kServer:
      return failure.response.status >= 400
                 ? fmt::format(
                       "{} answers HTTP {}: {} in trouble, try later", place(failure),
                       failure.response.status,
                       failure.proxy.empty() ? "the service is" : "the proxy or the service is")
                 : fmt::format("{}: {}", place(failure), failure.detail);
    case Kind::kReset:
      return fmt::format("no lasting connection to {}: {}", place(failure), failure.detail);
    case Kind::kDns:
      return fmt::format("the name {} cannot be resolved: check the URL and this node's DNS",
                         failure.host);
    case Kind::kProxy:
      return fmt::format("the proxy {} does not let us through: {}; check https_proxy and no_proxy",
                         failure.proxy, failure.detail);
    case Kind::kTls:
      return fmt::format(
          "no trusted connection to {}: {}; if the site has a CA of its own, name its bundle in "
          "SSL_CERT_FILE",
          place(failure), failure.detail);
    case Kind::kStall:
      return fmt::format("{} is too slow or silent: {}", place(failure), failure.detail);
    case Kind::kShort:
      return fmt::format("{} sends less than it promises: {}", place(failure), failure.detail);
    case Kind::kIgnored:
      return fmt::format(
          "{} does not answer with the range asked for: {}; a proxy or cache in "
          "between?",
          place(failure), failure.detail);
    case Kind::kChanged:
      return fmt::format("it changed during the download ({}): stage again when it is complete",
                         failure.detail);
    case Kind::kTooBig:
      return fmt::format("{} answers with more than can be right: {}", place(failure),
                         failure.detail);
    case Kind::kRedirect:
      return fmt::format("{} {}", place(failure), failure.detail);
    case Kind::kIdentity:
    case Kind::kStopped:
      return failure.detail;
    case Kind::kOk:
    case Kind::kRefused:
      break;
  }
  if (failure.response.status >= 300 && failure.response.status < 400) {
    // Without its query: logins get our URL there, encoded once more, signature and all.
    const std::string_view to = header(failure.response.headers, "location");
    return fmt::format(
        "{} redirects (HTTP {}) to {}, which is not followed: credentials are for one "
        "host only; use the final URL",
        place(failure), failure.response.status, redact(to.substr(0, to.find('?'))));
  }
  return fmt::format("{} answers HTTP {}", place(failure), failure.response.status);
}

}  // namespace

Kind Dialect::classify(const Response& response) const {
  switch (response.status) {
    case 429:
    case 503:
      return Kind::kThrottled;
    case 408:
    case 500:
    case 502:
    case 504:
      return Kind::kServer;
    case 412:
    case 416:
      return Kind::kChanged;
    default:
      return response.status > 504 ? Kind::kServer : Kind::kRefused;
  }
}

Error explain(const Failure& failure, const Dialect& dialect) {
  if (auto own = dialect.explain(failure)) return std::move(*own);
  const ExitCode code = failure.kind == Kind::kStopped    ? ExitCode::kStopped
                        : failure.kind == Kind::kIdentity ? ExitCode::kSource
                        : failure.kind == Kind::kRefused  ? ExitCode::kSource
                        : failure.kind == Kind::kRedirect ? ExitCode::kSource
                                                          : ExitCode::kTransfer;
  return Error{code, fmt::format("{}{}: {}", failure.what, attempts(failure), reason(failure))};
}

}  // namespace stage_model::http
