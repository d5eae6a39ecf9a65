#include "spank/credentials.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/base/text.h"
#include "spank/model_url.h"

namespace stage_model::spank {
namespace {

constexpr std::size_t kMaxValue = 32 << 10;

struct Known {
  std::string_view name;
  std::string_view scheme;
};

// All that the engine looks at (engine/auth, engine/source) but for what is the node's own.
constexpr std::array<Known, 54> kKnown = {{
    {"AZURE_STORAGE_ACCOUNT", "az"},
    {"AZURE_STORAGE_KEY", "az"},
    {"AZURE_STORAGE_SAS_TOKEN", "az"},
    {"AZURE_STORAGE_CONNECTION_STRING", "az"},
    {"AZURE_STORAGE_BLOB_ENDPOINT", "az"},
    {"AZURE_STORAGE_AUTH_MODE", "az"},
    {"AZURE_STORAGE_ANON", "az"},
    {"AZURE_CLIENT_ID", "az"},
    {"AZURE_CLIENT_SECRET", "az"},
    {"AZURE_CLIENT_CERTIFICATE_PATH", "az"},
    {"AZURE_TENANT_ID", "az"},
    {"AZURE_FEDERATED_TOKEN_FILE", "az"},
    {"AZURE_AUTHORITY_HOST", "az"},
    {"AZURE_POD_IDENTITY_AUTHORITY_HOST", "az"},
    {"AZURE_CONFIG_DIR", "az"},
    {"AZCOPY_AUTO_LOGIN_TYPE", "az"},
    {"AZCOPY_MSI_CLIENT_ID", "az"},
    {"AZCOPY_SPA_APPLICATION_ID", "az"},
    {"AZCOPY_SPA_CERT_PATH", "az"},
    {"AZCOPY_SPA_CLIENT_SECRET", "az"},
    {"AZCOPY_TENANT_ID", "az"},
    {"AWS_ACCESS_KEY_ID", "s3"},
    {"AWS_SECRET_ACCESS_KEY", "s3"},
    {"AWS_SESSION_TOKEN", "s3"},
    {"AWS_REGION", "s3"},
    {"AWS_DEFAULT_REGION", "s3"},
    {"AWS_ENDPOINT_URL", "s3"},
    {"AWS_ENDPOINT_URL_S3", "s3"},
    {"AWS_ENDPOINT_URL_STS", "s3"},
    {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "s3"},
    {"AWS_STS_REGIONAL_ENDPOINTS", "s3"},
    {"AWS_EC2_METADATA_DISABLED", "s3"},
    {"AWS_PROFILE", "s3"},
    {"AWS_DEFAULT_PROFILE", "s3"},
    {"AWS_SHARED_CREDENTIALS_FILE", "s3"},
    {"AWS_CONFIG_FILE", "s3"},
    {"AWS_ROLE_ARN", "s3"},
    {"AWS_ROLE_SESSION_NAME", "s3"},
    {"AWS_WEB_IDENTITY_TOKEN_FILE", "s3"},
    {"AWS_USE_FIPS_ENDPOINT", "s3"},
    {"AWS_USE_DUALSTACK_ENDPOINT", "s3"},
    {"GOOGLE_APPLICATION_CREDENTIALS", "gs"},
    {"CLOUDSDK_CONFIG", "gs"},
    {"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", "gs"},
    {"NO_GCE_CHECK", "gs"},
    {"STORAGE_EMULATOR_HOST", "gs"},
    {"HF_TOKEN", "hf"},
    {"HF_ENDPOINT", "hf"},
    {"HF_TOKEN_PATH", "hf"},
    {"HF_HOME", "hf"},
    {"HUGGING_FACE_HUB_TOKEN", "hf"},
    {"XDG_CACHE_HOME", "hf"},
    {"STAGE_ALLOW_HTTP", "hf"},
    {"STAGE_ALLOW_HTTP", "http"},
}};

}  // namespace

std::vector<std::string> credential_names(const Ask& ask, const std::vector<std::string>& extra) {
  std::vector<std::string> names = extra;
  for (const Model& model : ask.models) {
    const std::string scheme = url_scheme(model.url);
    // Such a URL may be Azure's; the other stores have no https form.
    const bool web = scheme == "https" || scheme == "http";
    for (const Known& known : kKnown) {
      if (scheme == known.scheme || (web && known.scheme == "az")) names.emplace_back(known.name);
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<Credentials> gather_credentials(
    const std::vector<std::string>& names,
    const std::function<const char*(const std::string&)>& lookup) {
  Credentials found;
  for (const std::string& name : names) {
    const char* value = lookup(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text(value);
    if (text.size() > kMaxValue || has_control(text) || !valid_utf8(text)) {
      return fail(ExitCode::kUsage,
                  "the variable " + name + " holds unprintable characters or more than 32 KiB");
    }
    found.emplace_back(name, value);
  }
  return found;
}

}  // namespace stage_model::spank
