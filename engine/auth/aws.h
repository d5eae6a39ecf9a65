// Who we are to AWS: which keys, in the order of aws-cli.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/auth/aws_profile.h"
#include "engine/auth/aws_sigv4.h"
#include "engine/auth/credential_cache.h"
#include "engine/auth/identity.h"
#include "engine/base/variables.h"
#include "engine/http/exchange.h"

namespace stage_model::auth {

// AWS_REGION, AWS_DEFAULT_REGION, the profile's, "us-east-1".
std::string aws_region(const Variables& variables, const AwsProfile& profile);

// Where the keys come from, whatever they sign. Thread-safe.
class AwsLogin {
 public:
  virtual ~AwsLogin() = default;
  virtual CredentialCache& cache() const = 0;
  virtual std::string describe() const = 0;  // "keys of profile x"; no secrets
  // What was looked for before, and why each is not used. No secrets.
  virtual std::vector<std::string> passed_over() const = 0;
};

// AWS_ACCESS_KEY_ID; a web identity (AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or those of the
// profile); the profile's keys; a container's credentials service; the role of the EC2 instance;
// nobody. Asks nobody yet. `region`: of the STS. Errors: kSource for what is there but cannot work.
Result<std::shared_ptr<const AwsLogin>> choose_aws(const Variables& variables,
                                                   const AwsProfile& profile,
                                                   const std::string& region,
                                                   http::Exchange exchange);

// Signs for `scope` with the keys of `login`.
IdentityPtr aws_identity(std::shared_ptr<const AwsLogin> login, AwsScope scope);

}  // namespace stage_model::auth
