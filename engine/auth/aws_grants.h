// Temporary keys from AWS's services. Each call blocks for seconds at most; thread-safe.
#pragma once

#include <ctime>
#include <optional>
#include <string>

#include "engine/auth/aws_sigv4.h"
#include "engine/base/variables.h"
#include "engine/http/exchange.h"

namespace stage_model::auth {

struct AwsGrant {
  AwsKeys keys;
  std::time_t expires = 0;  // 0: never
};

// A web identity (EKS, GitHub, …): the token file, which is read at each call, for a role's keys.
struct AwsWebIdentity {
  std::string token_file, role, session;
  std::string sts;  // "https://sts.REGION.amazonaws.com"
};
Result<AwsGrant> grant_of_web_identity(const AwsWebIdentity& identity,
                                       const http::Exchange& exchange);

// A container's credentials service (ECS, EKS Pod Identity).
struct AwsContainer {
  std::string origin, path;
  http::Query query;
  std::string token, token_file;  // Authorization; the file is read at each call. May be ""
};
// From AWS_CONTAINER_CREDENTIALS_*; nothing without them. Errors: kSource, for a URL that a secret
// must not be sent to.
Result<std::optional<AwsContainer>> find_aws_container(const Variables& variables);
Result<AwsGrant> grant_of_container(const AwsContainer& container, const http::Exchange& exchange);

// The role of an EC2 instance, by version 2 of its metadata service. Nothing, with the reason in
// `why`, where there is no such service or no role.
Result<std::optional<AwsGrant>> grant_of_instance(const Variables& variables,
                                                  const http::Exchange& exchange, std::string& why);

// Of containers and instances. Errors: kSource.
Result<AwsGrant> parse_aws_grant_json(const std::string& json);
// Of STS. Errors: kSource.
Result<AwsGrant> parse_aws_grant_xml(const std::string& xml);

}  // namespace stage_model::auth
