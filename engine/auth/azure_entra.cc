#include <fmt/format.h>

#include <ctime>

#include "engine/auth/azure_login.h"
#include "engine/auth/secret_file.h"
#include "engine/base/variables.h"

namespace stage_model::auth {
namespace {

constexpr unsigned kAttempts = 6;
constexpr double kFirstPause = 0.5;  // seconds; doubles

// Who asks whom. Tenant and client are not secret.
struct Application {
  http::Exchange exchange;
  std::string authority, tenant, client;
};

bool valid_id(const std::string& id) {
  return !id.empty() && id.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789-.") == std::string::npos;
}

Result<Application> find_application(const Variables& variables,
                                     const AzureSurroundings& surroundings, const char* beside) {
  Application out{surroundings.exchange, variable(variables, "AZURE_AUTHORITY_HOST"),
                  variable(variables, "AZURE_TENANT_ID"), variable(variables, "AZURE_CLIENT_ID")};
  for (const auto& [name, value] :
       {std::pair{"AZURE_TENANT_ID", out.tenant}, std::pair{"AZURE_CLIENT_ID", out.client}}) {
    if (valid_id(value)) continue;
    return fail(ExitCode::kSource, fmt::format("{} is set, but {} {}: set all three", beside, name,
                                               value.empty() ? "is not" : "is not an id"));
  }
  if (out.authority.empty()) out.authority = surroundings.authority;
  if (out.authority.find("://") == std::string::npos) out.authority = "https://" + out.authority;
  while (out.authority.ends_with('/')) out.authority.pop_back();
  if (!is_safe_for_secrets(out.authority)) {
    return fail(ExitCode::kSource,
                "AZURE_AUTHORITY_HOST is not an https URL: a secret is not sent there");
  }
  return out;
}

const char* advice(const std::string& code) {
  if (code == "AADSTS7000215") return ": the client secret is wrong (its value, not its id)";
  if (code == "AADSTS7000222") return ": the client secret has expired";
  if (code == "AADSTS700016") return ": the tenant has no such client id";
  if (code == "AADSTS90002") return ": there is no such tenant";
  if (code == "AADSTS700024") return ": the federated token has run out or the clock is wrong";
  if (code == "AADSTS70021" || code == "AADSTS700211" || code == "AADSTS700213") {
    return ": no federated credential of the application matches this token's issuer and subject";
  }
  return "";
}

// `proof` are the form's fields that prove who asks.
Result<std::optional<Credential>> ask(const Application& application, http::Query proof) {
  http::Query form = {{"grant_type", "client_credentials"},
                      {"client_id", application.client},
                      {"scope", std::string(kStorageResource) + ".default"}};
  form.insert(form.end(), std::make_move_iterator(proof.begin()),
              std::make_move_iterator(proof.end()));
  http::ExchangeRequest asked;
  asked.request.method = "POST";
  asked.request.origin = application.authority;
  asked.request.path = "/" + application.tenant + "/oauth2/v2.0/token";
  asked.request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  asked.body = http::format_query(form);
  Result<http::ExchangeAnswer> answer =
      http::exchange_with_retries(application.exchange, asked, kAttempts, kFirstPause);
  const std::string where = "Entra ID (" + application.authority + ")";
  if (!answer) {
    return fail(ExitCode::kSource,
                fmt::format("{} cannot be reached: {}", where, answer.error().message));
  }
  if (answer->status != 200) {
    const std::string code = azure_error_code(answer->body);
    return fail(ExitCode::kSource,
                fmt::format("{} gives no token for client {}: HTTP {}{}{}{}", where,
                            application.client, answer->status, code.empty() ? "" : " ", code,
                            answer->status == 429 ? ": too many ask at once" : advice(code)));
  }
  Result<Credential> token = parse_azure_token(answer->body, std::time(nullptr));
  if (!token) return fail(ExitCode::kSource, where + ": " + token.error().message);
  return std::optional<Credential>(std::move(*token));
}

}  // namespace

Result<std::optional<AzureTokenWay>> azure_service_principal(
    const Variables& variables, const AzureSurroundings& surroundings) {
  std::string secret = variable(variables, "AZURE_CLIENT_SECRET");
  while (secret.ends_with('\n') || secret.ends_with('\r')) secret.pop_back();
  if (secret.empty() && !variable(variables, "AZURE_CLIENT_CERTIFICATE_PATH").empty()) {
    return fail(ExitCode::kSource,
                "AZURE_CLIENT_CERTIFICATE_PATH: a service principal's certificate is not "
                "supported: set AZURE_CLIENT_SECRET, or unset it and log in by 'az login "
                "--service-principal'");
  }
  if (secret.empty()) return std::nullopt;
  Result<Application> application =
      find_application(variables, surroundings, "AZURE_CLIENT_SECRET");
  if (!application) return tl::unexpected(application.error());
  AzureTokenWay way;
  way.name = "service principal " + application->client;
  way.fetch = [application = *application, secret](std::string&) {
    return ask(application, {{"client_secret", secret}});
  };
  return way;
}

Result<std::optional<AzureTokenWay>> azure_workload_identity(
    const Variables& variables, const AzureSurroundings& surroundings) {
  const std::string file = variable(variables, "AZURE_FEDERATED_TOKEN_FILE");
  if (file.empty()) return std::nullopt;
  Result<Application> application =
      find_application(variables, surroundings, "AZURE_FEDERATED_TOKEN_FILE");
  if (!application) return tl::unexpected(application.error());
  AzureTokenWay way;
  way.name = "workload identity " + application->client;
  way.fetch = [application = *application,
               file](std::string&) -> Result<std::optional<Credential>> {
    // Kubernetes puts another token there every hour or so.
    Result<std::string> assertion = read_secret_file(file);
    if (!assertion) {
      return fail(ExitCode::kSource, "AZURE_FEDERATED_TOKEN_FILE: " + assertion.error().message);
    }
    while (assertion->ends_with('\n') || assertion->ends_with('\r')) assertion->pop_back();
    return ask(application,
               {{"client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
                {"client_assertion", std::move(*assertion)}});
  };
  return way;
}

}  // namespace stage_model::auth
