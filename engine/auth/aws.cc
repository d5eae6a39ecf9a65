#include "engine/auth/aws.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "engine/auth/aws_grants.h"
#include "engine/base/mutex.h"
#include "engine/base/variables.h"

namespace stage_model::auth {
namespace {

// New keys of a role are there five minutes before the old ones run out.
constexpr double kMargin = 300;

// Keys hold no line breaks: checked_keys().
std::string pack(const AwsKeys& keys) { return keys.id + "\n" + keys.secret + "\n" + keys.session; }

AwsKeys unpack(const std::string& secret) {
  const std::size_t first = secret.find('\n');
  const std::size_t second = first == std::string::npos ? first : secret.find('\n', first + 1);
  if (second == std::string::npos) return {};
  return {secret.substr(0, first), secret.substr(first + 1, second - first - 1),
          secret.substr(second + 1)};
}

Result<AwsKeys> checked_keys(AwsKeys keys, const std::string& from) {
  for (std::string* part : {&keys.id, &keys.secret, &keys.session}) {
    while (!part->empty() &&
           (part->back() == '\n' || part->back() == '\r' || part->back() == ' ')) {
      part->pop_back();  // out of a file with its line end
    }
    if (part->find_first_of("\r\n") != std::string::npos) {
      return fail(ExitCode::kSource, from + " have a line break in them: copy them again");
    }
  }
  return keys;
}

Credential proof_of(const AwsGrant& grant) { return {pack(grant.keys), grant.expires}; }

class Login final : public AwsLogin {
 public:
  using Fetch = std::function<Result<Credential>()>;

  Login(std::string name, std::vector<std::string> passed_over, Fetch fetch)
      : name_(std::move(name)),
        passed_over_(std::move(passed_over)),
        cache_(std::move(fetch), kMargin) {}

  CredentialCache& cache() const override { return cache_; }
  std::string describe() const override { return name_; }
  std::vector<std::string> passed_over() const override { return passed_over_; }

 private:
  const std::string name_;
  const std::vector<std::string> passed_over_;
  mutable CredentialCache cache_;
};

// The instance's role if there is one, else nobody: known only once the metadata service is asked.
class InstanceLogin final : public AwsLogin {
 public:
  InstanceLogin(std::vector<std::string> passed_over, Variables variables, http::Exchange exchange)
      : passed_over_(std::move(passed_over)),
        variables_(std::move(variables)),
        exchange_(std::move(exchange)),
        cache_([this] { return fetch(); }, kMargin) {}

  CredentialCache& cache() const override { return cache_; }

  std::string describe() const override {
    const MutexLock lock(mutex_);
    if (nobody_ && why_.empty()) return "anonymous";
    return nobody_ ? "anonymous (" + why_ + ")" : "role of the EC2 instance";
  }
  std::vector<std::string> passed_over() const override { return passed_over_; }

 private:
  Result<Credential> fetch() {
    std::string why;
    Result<std::optional<AwsGrant>> grant = grant_of_instance(variables_, exchange_, why);
    if (!grant) return tl::unexpected(grant.error());
    const MutexLock lock(mutex_);
    // Keys that were there once do not turn into nobody in mid-transfer.
    if (!*grant && !nobody_) return fail(ExitCode::kSource, why);
    nobody_ = !*grant;
    why_ = why;
    return *grant ? proof_of(**grant) : Credential{};
  }

  const std::vector<std::string> passed_over_;
  const Variables variables_;
  const http::Exchange exchange_;
  mutable Mutex mutex_;
  bool nobody_ STAGE_GUARDED_BY(mutex_) = true;
  std::string why_ STAGE_GUARDED_BY(mutex_);
  mutable CredentialCache cache_;
};

class AwsIdentity final : public CachedIdentity {
 public:
  AwsIdentity(std::shared_ptr<const AwsLogin> login, AwsScope scope)
      : login_(std::move(login)), scope_(std::move(scope)) {}

  Status sign(http::Request& request) const override {
    Result<std::string> secret = cache().secret();
    if (!secret) return tl::unexpected(secret.error());
    if (secret->empty()) return {};
    aws_sign(request, unpack(*secret), scope_, std::time(nullptr));
    return {};
  }
  std::string describe() const override { return login_->describe(); }
  std::vector<std::string> passed_over() const override { return login_->passed_over(); }

 private:
  CredentialCache& cache() const override { return login_->cache(); }

  const std::shared_ptr<const AwsLogin> login_;
  const AwsScope scope_;
};

std::string sts_endpoint(const Variables& variables, const std::string& region) {
  if (std::string own = variable(variables, "AWS_ENDPOINT_URL_STS"); !own.empty()) return own;
  if (variable(variables, "AWS_STS_REGIONAL_ENDPOINTS") == "legacy") {
    return "https://sts.amazonaws.com";
  }
  return fmt::format("https://sts.{}.amazonaws.com{}", region,
                     region.starts_with("cn-") ? ".cn" : "");
}

// A way to prove oneself that we do not speak must not end in another identity without a word.
Status check_supported(const AwsProfile& profile) {
  if (profile.named && !profile.found) {
    return fail(
        ExitCode::kSource,
        fmt::format("there is no profile '{}' in AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE "
                    "or ~/.aws on this node{}",
                    profile.name, profile.files.empty() ? "" : " (" + profile.files + ")"));
  }
  if (!profile.setting("aws_access_key_id").empty() &&
      !profile.setting("aws_secret_access_key").empty() && profile.setting("role_arn").empty()) {
    return {};
  }
  for (const char* name : {"sso_session", "sso_start_url", "credential_process", "login_session"}) {
    if (profile.setting(name).empty()) continue;
    return fail(ExitCode::kSource,
                fmt::format("profile '{}' uses {}, which is not supported: export its keys (eval "
                            "\"$(aws configure export-credentials --format env)\")",
                            profile.name, name));
  }
  if (!profile.setting("role_arn").empty() && profile.setting("web_identity_token_file").empty()) {
    return fail(ExitCode::kSource,
                fmt::format("profile '{}' assumes a role, which is not supported: export its keys "
                            "(eval \"$(aws configure export-credentials --format env)\")",
                            profile.name));
  }
  return {};
}

}  // namespace

std::string aws_region(const Variables& variables, const AwsProfile& profile) {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (std::string region = variable(variables, name); !region.empty()) return region;
  }
  const std::string region = profile.setting("region");
  return region.empty() ? "us-east-1" : region;
}

Result<std::shared_ptr<const AwsLogin>> choose_aws(const Variables& variables,
                                                   const AwsProfile& profile,
                                                   const std::string& region,
                                                   http::Exchange exchange) {
  std::vector<std::string> passed_over;
  const auto pass_over = [&passed_over](std::string why) { passed_over.push_back(std::move(why)); };
  const auto fixed = [&passed_over](const std::string& name,
                                    AwsKeys keys) -> Result<std::shared_ptr<const AwsLogin>> {
    Result<AwsKeys> good = checked_keys(std::move(keys), name);
    if (!good) return tl::unexpected(good.error());
    return std::make_shared<Login>(name, passed_over,
                                   [secret = pack(*good)]() -> Result<Credential> {
                                     return Credential{secret, 0};
                                   });
  };

  AwsKeys keys = {variable(variables, "AWS_ACCESS_KEY_ID"),
                  variable(variables, "AWS_SECRET_ACCESS_KEY"),
                  variable(variables, "AWS_SESSION_TOKEN")};
  if (keys.id.empty() != keys.secret.empty()) {
    return fail(ExitCode::kSource,
                fmt::format("{} is set without {}",
                            keys.id.empty() ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID",
                            keys.id.empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY"));
  }
  if (!keys.id.empty()) return fixed("keys of AWS_ACCESS_KEY_ID", std::move(keys));
  pass_over("keys: AWS_ACCESS_KEY_ID is not set");

  AwsWebIdentity web = {
      variable(variables, "AWS_WEB_IDENTITY_TOKEN_FILE"), variable(variables, "AWS_ROLE_ARN"),
      variable(variables, "AWS_ROLE_SESSION_NAME"), sts_endpoint(variables, region)};
  if (web.token_file.empty()) {
    if (Status status = check_supported(profile); !status) return tl::unexpected(status.error());
    web.token_file = profile.setting("web_identity_token_file");
    if (!web.token_file.empty()) {
      web.role = profile.setting("role_arn");
      web.session = profile.setting("role_session_name");
    }
  }
  if (!web.token_file.empty()) {
    if (web.role.empty()) {
      return fail(ExitCode::kSource, "AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN");
    }
    if (web.session.empty()) web.session = "stage-model";
    return std::make_shared<Login>("web identity for role " + web.role, passed_over,
                                   [web, exchange = std::move(exchange)]() -> Result<Credential> {
                                     Result<AwsGrant> grant = grant_of_web_identity(web, exchange);
                                     if (!grant) return tl::unexpected(grant.error());
                                     return proof_of(*grant);
                                   });
  }
  pass_over("web identity: AWS_WEB_IDENTITY_TOKEN_FILE is not set");

  keys = {profile.setting("aws_access_key_id"), profile.setting("aws_secret_access_key"),
          profile.setting("aws_session_token")};
  if (!keys.id.empty() && !keys.secret.empty()) {
    return fixed(fmt::format("keys of profile '{}'", profile.name), std::move(keys));
  }
  pass_over(fmt::format("profile '{}': {}", profile.name,
                        !profile.files.empty() ? profile.files
                        : profile.found        ? "holds no keys"
                                               : "is not there"));

  Result<std::optional<AwsContainer>> container = find_aws_container(variables);
  if (!container) return tl::unexpected(container.error());
  if (*container) {
    return std::make_shared<Login>(
        "role of the container", passed_over,
        [from = **container, exchange = std::move(exchange)]() -> Result<Credential> {
          Result<AwsGrant> grant = grant_of_container(from, exchange);
          if (!grant) return tl::unexpected(grant.error());
          return proof_of(*grant);
        });
  }
  pass_over("container: AWS_CONTAINER_CREDENTIALS_FULL_URI is not set");
  return std::make_shared<InstanceLogin>(passed_over, variables, std::move(exchange));
}

IdentityPtr aws_identity(std::shared_ptr<const AwsLogin> login, AwsScope scope) {
  return std::make_shared<AwsIdentity>(std::move(login), std::move(scope));
}

}  // namespace stage_model::auth
