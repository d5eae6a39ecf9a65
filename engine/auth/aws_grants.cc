#include "engine/auth/aws_grants.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <pugixml.hpp>

#include "engine/auth/secret_file.h"
#include "engine/base/variables.h"
#include "engine/contract/iso_time.h"

namespace stage_model::auth {
namespace {

constexpr unsigned kAttempts = 4;
// The metadata service is on the node: who does not answer within this is not there.
constexpr double kLocalConnect = 1;
constexpr double kLocalAnswer = 5;

std::string trimmed(std::string text) {
  const auto space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && space(text.back())) text.pop_back();
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), space));
  return text;
}

// From a server, so bounded and plain before it goes into a message.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 200)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  return out;
}

Result<AwsGrant> checked(AwsGrant grant, const std::string& expiration) {
  if (grant.keys.id.empty() || grant.keys.secret.empty()) {
    return fail(ExitCode::kSource, "the answer holds no keys");
  }
  if (expiration.empty()) return grant;
  const auto expires = parse_iso_time(expiration);
  if (!expires) return fail(ExitCode::kSource, "the answer's keys have an unreadable expiry");
  grant.expires = *expires;
  return grant;
}

Result<http::Url> endpoint(const std::string& text, const char* name) {
  Result<http::Url> url = http::parse_url(text);
  if (!url) return fail(ExitCode::kSource, fmt::format("{}: {}", name, url.error().message));
  while (url->path.ends_with('/')) url->path.pop_back();
  return url;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

http::ExchangeRequest local_request(const std::string& method, const std::string& origin,
                                    const std::string& path) {
  http::ExchangeRequest out;
  out.request.method = method;
  out.request.origin = origin;
  out.request.path = path;
  out.local = true;
  out.connect_timeout_s = kLocalConnect;
  out.timeout_s = kLocalAnswer;
  return out;
}

}  // namespace

Result<AwsGrant> parse_aws_grant_json(const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(json).get(root) != simdjson::SUCCESS || !root.is_object()) {
    return fail(ExitCode::kSource, "the answer is not JSON");
  }
  const auto text = [&root](const char* name) {
    std::string_view value;
    return root[name].get(value) == simdjson::SUCCESS ? std::string(value) : std::string();
  };
  if (const std::string code = text("Code"); !code.empty() && code != "Success") {
    return fail(ExitCode::kSource, "the answer is " + plain(code));
  }
  AwsGrant grant;
  grant.keys = {text("AccessKeyId"), text("SecretAccessKey"), text("Token")};
  return checked(std::move(grant), text("Expiration"));
}

Result<AwsGrant> parse_aws_grant_xml(const std::string& xml) {
  pugi::xml_document document;
  if (!document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8)) {
    return fail(ExitCode::kSource, "the answer is not XML");
  }
  const pugi::xml_node keys = document.child("AssumeRoleWithWebIdentityResponse")
                                  .child("AssumeRoleWithWebIdentityResult")
                                  .child("Credentials");
  AwsGrant grant;
  grant.keys = {keys.child_value("AccessKeyId"), keys.child_value("SecretAccessKey"),
                keys.child_value("SessionToken")};
  return checked(std::move(grant), keys.child_value("Expiration"));
}

Result<AwsGrant> grant_of_web_identity(const AwsWebIdentity& identity,
                                       const http::Exchange& exchange) {
  Result<std::string> token = read_secret_file(identity.token_file);
  if (!token)
    return fail(ExitCode::kSource, "AWS_WEB_IDENTITY_TOKEN_FILE: " + token.error().message);
  Result<http::Url> sts = endpoint(identity.sts, "AWS_ENDPOINT_URL_STS");
  if (!sts) return tl::unexpected(sts.error());
  if (sts->scheme != "https" && !is_loopback(sts->host)) {
    return fail(ExitCode::kSource,
                "AWS_ENDPOINT_URL_STS: a token is not sent in clear: use an https URL");
  }
  http::ExchangeRequest asked;
  asked.request.method = "POST";
  asked.request.origin = sts->origin();
  asked.request.path = sts->path + "/";
  asked.request.headers = {{"Content-Type", "application/x-www-form-urlencoded"},
                           {"Accept", "application/xml"}};
  asked.body = http::format_query({{"Action", "AssumeRoleWithWebIdentity"},
                                   {"Version", "2011-06-15"},
                                   {"RoleArn", identity.role},
                                   {"RoleSessionName", identity.session},
                                   {"WebIdentityToken", trimmed(std::move(*token))}});
  Result<http::ExchangeAnswer> answer = http::exchange_with_retries(exchange, asked, kAttempts);
  const std::string who = fmt::format("the STS at {}", sts->host);
  if (!answer) {
    return fail(ExitCode::kSource, fmt::format("{}: {}", who, answer.error().message));
  }
  if (answer->status != 200) {
    pugi::xml_document document;
    document.load_buffer(answer->body.data(), answer->body.size(), pugi::parse_default,
                         pugi::encoding_utf8);
    const pugi::xml_node error = document.child("ErrorResponse").child("Error");
    return fail(ExitCode::kSource,
                fmt::format("{} gives no keys for role {} (HTTP {} {}): does the role trust this "
                            "token's issuer, audience and subject, and is the token still valid?",
                            who, identity.role, answer->status, plain(error.child_value("Code"))));
  }
  Result<AwsGrant> grant = parse_aws_grant_xml(answer->body);
  if (!grant) return fail(grant.error().code, fmt::format("{}: {}", who, grant.error().message));
  return grant;
}

Result<std::optional<AwsContainer>> find_aws_container(const Variables& variables) {
  const std::string relative = variable(variables, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = variable(variables, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && full.empty()) return std::nullopt;
  Result<http::Url> url =
      http::parse_url(relative.empty() ? full : "http://169.254.170.2" + relative);
  if (!url) {
    return fail(ExitCode::kSource, "AWS_CONTAINER_CREDENTIALS_FULL_URI: " + url.error().message);
  }
  // The addresses of ECS and EKS.
  static constexpr std::array<std::string_view, 3> kKnown = {"169.254.170.2", "169.254.170.23",
                                                             "[fd00:ec2::23]"};
  if (url->scheme != "https" && !is_loopback(url->host) &&
      std::find(kKnown.begin(), kKnown.end(), url->host) == kKnown.end()) {
    return fail(ExitCode::kSource,
                "AWS_CONTAINER_CREDENTIALS_FULL_URI: only https, loopback and the addresses of ECS "
                "and EKS are asked for keys");
  }
  AwsContainer out;
  out.origin = url->origin();
  out.path = url->path.empty() ? "/" : url->path;
  Result<http::Query> query = http::parse_query(url->query);
  if (!query) return tl::unexpected(query.error());
  out.query = std::move(*query);
  out.token = variable(variables, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
  out.token_file = variable(variables, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  return out;
}

Result<AwsGrant> grant_of_container(const AwsContainer& container, const http::Exchange& exchange) {
  constexpr std::string_view kWho = "the container's credentials service";
  http::ExchangeRequest asked = local_request("GET", container.origin, container.path);
  asked.request.query = container.query;
  std::string token = container.token;
  if (!container.token_file.empty()) {
    Result<std::string> text = read_secret_file(container.token_file);
    if (!text) return fail(ExitCode::kSource, text.error().message);
    token = std::move(*text);
  }
  token = trimmed(std::move(token));
  if (token.find_first_of("\r\n") != std::string::npos) {
    return fail(ExitCode::kSource, "the container's authorization token has a line break in it");
  }
  if (!token.empty()) asked.request.headers.emplace_back("Authorization", token);
  Result<http::ExchangeAnswer> answer = http::exchange_with_retries(exchange, asked, kAttempts);
  if (!answer) return fail(ExitCode::kSource, fmt::format("{}: {}", kWho, answer.error().message));
  if (answer->status != 200) {
    return fail(ExitCode::kSource,
                fmt::format("{} at {} answers HTTP {}", kWho, container.origin, answer->status));
  }
  Result<AwsGrant> grant = parse_aws_grant_json(answer->body);
  if (!grant) return fail(grant.error().code, fmt::format("{}: {}", kWho, grant.error().message));
  return grant;
}

Result<std::optional<AwsGrant>> grant_of_instance(const Variables& variables,
                                                  const http::Exchange& exchange,
                                                  std::string& why) {
  constexpr std::string_view kWho = "the EC2 metadata service (IMDS)";
  std::string disabled = variable(variables, "AWS_EC2_METADATA_DISABLED");
  if (disabled == "true" || disabled == "TRUE" || disabled == "True") {
    why = "AWS_EC2_METADATA_DISABLED is set";
    return std::nullopt;
  }
  std::string at = variable(variables, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
  const std::string mode = variable(variables, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
  if (at.empty()) {
    at = mode == "IPv6" || mode == "ipv6" ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
  }
  Result<http::Url> url = endpoint(at, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (!url) return tl::unexpected(url.error());

  http::ExchangeRequest first =
      local_request("PUT", url->origin(), url->path + "/latest/api/token");
  first.request.headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}};
  Result<http::ExchangeAnswer> answer = exchange(first);
  if (!answer) {
    why = fmt::format("{} does not answer: not on EC2, or its hop limit is 1", kWho);
    return std::nullopt;
  }
  if (answer->status == 429 || answer->status >= 500) {
    answer = http::exchange_with_retries(exchange, first, kAttempts);
    if (!answer || answer->status == 429 || answer->status >= 500) {
      return fail(ExitCode::kSource,
                  fmt::format("{} is too busy or in trouble ({}): try later", kWho,
                              answer ? fmt::format("HTTP {}", answer->status) : "no answer"));
    }
  }
  const std::string session = trimmed(answer->body);
  // Other clouds have something else at this address.
  if (answer->status != 200 || session.empty() || session.size() > 4096 ||
      session.find_first_of(" \r\n") != std::string::npos) {
    why =
        fmt::format("{} answers HTTP {}: not on EC2, or it is switched off", kWho, answer->status);
    return std::nullopt;
  }

  const auto get = [&](const std::string& path) -> Result<http::ExchangeAnswer> {
    http::ExchangeRequest next = local_request("GET", url->origin(), url->path + path);
    next.request.headers = {{"X-aws-ec2-metadata-token", session}};
    Result<http::ExchangeAnswer> result = http::exchange_with_retries(exchange, next, kAttempts);
    if (!result)
      return fail(ExitCode::kSource, fmt::format("{}: {}", kWho, result.error().message));
    if (result->status != 200 && result->status != 404) {
      return fail(ExitCode::kSource,
                  fmt::format("{} answers HTTP {} when asked for the role's keys: try later", kWho,
                              result->status));
    }
    return result;
  };
  const std::string roles = "/latest/meta-data/iam/security-credentials/";
  Result<http::ExchangeAnswer> names = get(roles);
  if (!names) return tl::unexpected(names.error());
  const std::string role = trimmed(names->body.substr(0, names->body.find('\n')));
  if (names->status == 404 || role.empty()) {
    why = "the EC2 instance has no role";
    return std::nullopt;
  }
  Result<http::ExchangeAnswer> keys = get(roles + http::encode(role));
  if (!keys) return tl::unexpected(keys.error());
  if (keys->status == 404) {
    why = "the EC2 instance has no role";
    return std::nullopt;
  }
  Result<AwsGrant> grant = parse_aws_grant_json(keys->body);
  if (!grant) return fail(grant.error().code, fmt::format("{}: {}", kWho, grant.error().message));
  return std::move(*grant);
}

}  // namespace stage_model::auth
