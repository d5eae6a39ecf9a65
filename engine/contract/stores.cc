#include "stage_model/stores.h"

#include <algorithm>
#include <array>

#include "engine/base/text.h"

namespace stage_model {
namespace {

using Use = VariableUse;

bool all_of(std::string_view text, std::string_view extra) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           extra.find(c) != std::string_view::npos;
  });
}

std::string azure_problem(std::string_view account, std::string_view path) {
  const std::string_view container = path.substr(0, path.find('/'));
  const std::string form = "; the form is az://ACCOUNT/CONTAINER/PREFIX/";
  if (account.empty()) return "names no storage account" + form;
  if (account.size() < 3 || account.size() > 24 || !all_of(account, "")) {
    return "names the account " + quote(account) +
           ", which is not 3 to 24 lower-case letters and digits" + form;
  }
  if (container.empty()) return "names no container" + form;
  if (container != "$root" && container != "$web" && container != "$logs" &&
      (container.size() < 3 || container.size() > 63 || !all_of(container, "-"))) {
    return "names the container " + quote(container) +
           ", which is not 3 to 63 lower-case letters, digits and hyphens" + form;
  }
  return {};
}

std::string host_problem(std::string_view authority, std::string_view) {
  return authority.empty() ? "names no host or bucket" : "";
}

std::string hub_problem(std::string_view owner, std::string_view path) {
  if (owner.empty()) return host_problem(owner, path);
  return path.empty() ? "is not of the form hf://OWNER/NAME" : "";
}

std::string file_problem(std::string_view authority, std::string_view path) {
  return authority.empty() && !path.empty() ? "" : "is not of the form file:///DIRECTORY";
}

constexpr std::array kAzure = {
    StoreVariable{"AZURE_STORAGE_ACCOUNT", Use::kSetting},
    StoreVariable{"AZURE_STORAGE_KEY", Use::kSecret},
    StoreVariable{"AZURE_STORAGE_SAS_TOKEN", Use::kSecret},
    StoreVariable{"AZURE_STORAGE_CONNECTION_STRING", Use::kSecret},
    StoreVariable{"AZURE_STORAGE_BLOB_ENDPOINT", Use::kEndpoint},
    StoreVariable{"AZURE_STORAGE_AUTH_MODE", Use::kSetting},
    StoreVariable{"AZURE_STORAGE_ANON", Use::kSetting},
    StoreVariable{"AZURE_CLIENT_ID", Use::kSetting},
    StoreVariable{"AZURE_CLIENT_SECRET", Use::kSecret},
    StoreVariable{"AZURE_CLIENT_CERTIFICATE_PATH", Use::kPath},
    StoreVariable{"AZURE_TENANT_ID", Use::kSetting},
    StoreVariable{"AZURE_FEDERATED_TOKEN_FILE", Use::kPath},
    StoreVariable{"AZURE_AUTHORITY_HOST", Use::kEndpoint},
    StoreVariable{"AZURE_POD_IDENTITY_AUTHORITY_HOST", Use::kEndpoint},
    StoreVariable{"AZURE_CONFIG_DIR", Use::kPath},
    StoreVariable{"AZCOPY_AUTO_LOGIN_TYPE", Use::kSetting},
    StoreVariable{"AZCOPY_MSI_CLIENT_ID", Use::kSetting},
    StoreVariable{"AZCOPY_SPA_APPLICATION_ID", Use::kSetting},
    StoreVariable{"AZCOPY_SPA_CERT_PATH", Use::kPath},
    StoreVariable{"AZCOPY_SPA_CLIENT_SECRET", Use::kSecret},
    StoreVariable{"AZCOPY_TENANT_ID", Use::kSetting},
};
constexpr std::array kS3 = {
    StoreVariable{"AWS_ACCESS_KEY_ID", Use::kSetting},
    StoreVariable{"AWS_SECRET_ACCESS_KEY", Use::kSecret},
    StoreVariable{"AWS_SESSION_TOKEN", Use::kSecret},
    StoreVariable{"AWS_REGION", Use::kSetting},
    StoreVariable{"AWS_DEFAULT_REGION", Use::kSetting},
    StoreVariable{"AWS_ENDPOINT_URL", Use::kEndpoint},
    StoreVariable{"AWS_ENDPOINT_URL_S3", Use::kEndpoint},
    StoreVariable{"AWS_ENDPOINT_URL_STS", Use::kEndpoint},
    StoreVariable{"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", Use::kSetting},
    StoreVariable{"AWS_STS_REGIONAL_ENDPOINTS", Use::kSetting},
    StoreVariable{"AWS_EC2_METADATA_DISABLED", Use::kSetting},
    StoreVariable{"AWS_PROFILE", Use::kSetting},
    StoreVariable{"AWS_DEFAULT_PROFILE", Use::kSetting},
    StoreVariable{"AWS_SHARED_CREDENTIALS_FILE", Use::kPath},
    StoreVariable{"AWS_CONFIG_FILE", Use::kPath},
    StoreVariable{"AWS_ROLE_ARN", Use::kSetting},
    StoreVariable{"AWS_ROLE_SESSION_NAME", Use::kSetting},
    StoreVariable{"AWS_WEB_IDENTITY_TOKEN_FILE", Use::kPath},
    StoreVariable{"AWS_USE_FIPS_ENDPOINT", Use::kSetting},
    StoreVariable{"AWS_USE_DUALSTACK_ENDPOINT", Use::kSetting},
    StoreVariable{"AWS_CONTAINER_AUTHORIZATION_TOKEN", Use::kNodesOwn},
    StoreVariable{"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", Use::kNodesOwn},
    StoreVariable{"AWS_CONTAINER_CREDENTIALS_FULL_URI", Use::kNodesOwn},
    StoreVariable{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", Use::kNodesOwn},
    StoreVariable{"AWS_EC2_METADATA_SERVICE_ENDPOINT", Use::kNodesOwn},
    StoreVariable{"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", Use::kNodesOwn},
};
constexpr std::array kGoogle = {
    StoreVariable{"GOOGLE_APPLICATION_CREDENTIALS", Use::kPath},
    StoreVariable{"CLOUDSDK_CONFIG", Use::kPath},
    StoreVariable{"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", Use::kEndpoint},
    StoreVariable{"NO_GCE_CHECK", Use::kSetting},
    StoreVariable{"STORAGE_EMULATOR_HOST", Use::kEndpoint},
    StoreVariable{"GCE_METADATA_HOST", Use::kNodesOwn},
};
constexpr std::array kHub = {
    StoreVariable{"HF_TOKEN", Use::kSecret},
    StoreVariable{"HF_ENDPOINT", Use::kEndpoint},
    StoreVariable{"HF_TOKEN_PATH", Use::kPath},
    StoreVariable{"HF_HOME", Use::kPath},
    StoreVariable{"HUGGING_FACE_HUB_TOKEN", Use::kSecret},
    StoreVariable{"XDG_CACHE_HOME", Use::kPath},
    StoreVariable{"STAGE_ALLOW_HTTP", Use::kSetting},
};
constexpr std::array kPlainHttp = {StoreVariable{"STAGE_ALLOW_HTTP", Use::kSetting}};

constexpr std::string_view kWebSafeWay =
    "export AZURE_STORAGE_SAS_TOKEN (Azure), or write s3://BUCKET/PREFIX/ and export "
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (S3),";

constexpr std::array kStores = {
    // scheme, allowed as, form, way for secrets, escaped, by default, may be, variables, problem
    Store{"az", "az", "az://ACCOUNT/CONTAINER/PREFIX/",
          "export AZURE_STORAGE_SAS_TOKEN='sv=...' (or AZURE_STORAGE_KEY)", false, true, "", kAzure,
          azure_problem},
    Store{"https",
          "https",
          "https://HOST/FILE, https://HOST/LIST.manifest",
          kWebSafeWay,
          true,
          true,
          "az",
          {},
          host_problem},
    Store{"http", "http", "http://HOST/FILE", kWebSafeWay, true, false, "az", kPlainHttp,
          host_problem},
    Store{"manifest+https",
          "https",
          "manifest+https://HOST/LIST",
          kWebSafeWay,
          true,
          true,
          "",
          {},
          host_problem},
    Store{"s3", "s3", "s3://BUCKET/PREFIX/", "export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
          false, true, "", kS3, host_problem},
    Store{"gs", "gs", "gs://BUCKET/PREFIX/", "export GOOGLE_APPLICATION_CREDENTIALS", false, true,
          "", kGoogle, host_problem},
    Store{"hf", "hf", "hf://ORG/NAME[@REVISION][/PATH]", "export HF_TOKEN", false, true, "", kHub,
          hub_problem},
    Store{"file", "file", "file:///PATH", kWebSafeWay, false, true, "", {}, file_problem},
};

// Of URLs, connection strings and forms. Exactly these, or with one of those in them.
constexpr std::array<std::string_view, 9> kSecretNames = {"sig",
                                                          "key",
                                                          "accountkey",
                                                          "auth",
                                                          "awsaccesskeyid",
                                                          "code",
                                                          "assertion",
                                                          "x-amz-credential",
                                                          "x-goog-credential"};
constexpr std::array<std::string_view, 7> kSecretParts = {
    "signature", "token", "secret", "password", "passwd", "apikey", "api_key"};

}  // namespace

std::span<const Store> stores() { return kStores; }

const Store* find_store(std::string_view scheme) {
  const auto* found = std::find_if(kStores.begin(), kStores.end(),
                                   [&](const Store& store) { return store.scheme == scheme; });
  return found == kStores.end() ? nullptr : found;
}

std::vector<std::string> default_schemes() {
  std::vector<std::string> names;
  for (const Store& store : kStores) {
    if (store.by_default && store.allowed_as == store.scheme) names.emplace_back(store.scheme);
  }
  return names;
}

std::vector<std::string> variables_of_scheme(std::string_view scheme) {
  std::vector<std::string> names;
  for (const Store* store = find_store(scheme); store != nullptr;
       store = find_store(store->may_be)) {
    for (const StoreVariable& variable : store->variables) {
      if (variable.use != Use::kNodesOwn) names.emplace_back(variable.name);
    }
  }
  return names;
}

bool is_secret_parameter(std::string_view name) {
  const std::string lower = lowered(name);
  return std::find(kSecretNames.begin(), kSecretNames.end(), lower) != kSecretNames.end() ||
         std::any_of(kSecretParts.begin(), kSecretParts.end(),
                     [&](std::string_view part) { return lower.find(part) != std::string::npos; });
}

}  // namespace stage_model
