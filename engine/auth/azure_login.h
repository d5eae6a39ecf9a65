// Tokens from Entra ID for Azure storage: the identities that must ask someone first.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/auth/credential_cache.h"
#include "engine/auth/identity.h"
#include "engine/base/variables.h"
#include "engine/http/exchange.h"

namespace stage_model::auth {

// The same for public and sovereign clouds.
inline constexpr char kStorageResource[] = "https://storage.azure.com/";

// What the identities need to know of where they are.
struct AzureSurroundings {
  http::Exchange exchange;  // none: no tokens at all
  std::string authority;    // "https://login.microsoftonline.com", of the endpoint's cloud
  // Also those that no variable speaks of: this machine's managed identity, az.
  bool implicit = true;
  std::function<void(double seconds)> sleep;  // tests; else the real one
};

// One way to a token. Each has a file of its own: azure_entra.cc, azure_imds.cc, azure_cli.cc.
struct AzureTokenWay {
  std::string name;  // "managed identity 1234-…", for messages
  // Blocks for a bounded time. Nothing, and the reason in `why`, where there is no such identity
  // here; an error where there is one and it does not work. Thread-safe.
  std::function<Result<std::optional<Credential>>(std::string& why)> fetch;
};

// By AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET or AZURE_FEDERATED_TOKEN_FILE (read
// at each exchange). Nothing if the last ones are unset. Errors: kSource: half of it is set.
Result<std::optional<AzureTokenWay>> azure_service_principal(const Variables& variables,
                                                             const AzureSurroundings& surroundings);
Result<std::optional<AzureTokenWay>> azure_workload_identity(const Variables& variables,
                                                             const AzureSurroundings& surroundings);

// The machine's own, by the instance metadata service: AZURE_CLIENT_ID chooses among several. The
// service is at AZURE_POD_IDENTITY_AUTHORITY_HOST, else at 169.254.169.254; never by a proxy.
AzureTokenWay azure_managed_identity(const Variables& variables,
                                     const AzureSurroundings& surroundings);

// `az account get-access-token`, if az is in PATH.
AzureTokenWay azure_cli(const Variables& variables);

// The first of the ways that leads to a token, chosen by prepare(); anonymous if none does, or an
// error if AZCOPY_AUTO_LOGIN_TYPE (SPN, WORKLOAD, MSI, AZCLI) asks for one or there is another
// identity already (`or_anonymous` is false). `before`: why identities without tokens were passed
// over. Errors: kSource.
Result<IdentityPtr> azure_login(const Variables& variables, const AzureSurroundings& surroundings,
                                std::vector<std::string> before, bool or_anonymous = true);

// Shared by the ways.

// {"access_token":…, "expires_in"/"expires_on":…}, with numbers as such or as text. Errors:
// kSource; messages hold nothing of it.
Result<Credential> parse_azure_token(const std::string& json, std::time_t now);
// "AADSTS7000215" of an error body, else its "error"; letters, digits and _ only.
std::string azure_error_code(const std::string& json);
// May a secret go there? https, or this machine.
bool is_safe_for_secrets(const std::string& url);

}  // namespace stage_model::auth
