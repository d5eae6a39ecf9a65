#include "engine/auth/google.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <utility>
#include <vector>

#include "engine/auth/anonymous.h"
#include "engine/auth/secret_file.h"
#include "engine/base/mutex.h"
#include "engine/base/variables.h"

namespace stage_model::auth {
namespace {

constexpr unsigned kAttempts = 4;
// The metadata server hands out the same token until a little under five minutes before its end.
constexpr double kMargin = 225;
constexpr std::int64_t kLongestLife = 86400L * 365;  // seconds; more is nonsense
constexpr double kLocalConnect = 1;
constexpr double kLocalAnswer = 5;

// Printable, for headers and messages.
bool is_plain(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

class GoogleIdentity : public CachedIdentity {
 public:
  GoogleIdentity(std::function<Result<Credential>()> fetch, std::vector<std::string> passed_over)
      : passed_over_(std::move(passed_over)), cache_(std::move(fetch), kMargin) {}

  std::vector<std::string> passed_over() const override { return passed_over_; }

 private:
  CredentialCache& cache() const override { return cache_; }

  const std::vector<std::string> passed_over_;
  mutable CredentialCache cache_;
};

class KeyFileIdentity final : public GoogleIdentity {
 public:
  KeyFileIdentity(std::string name, std::function<Result<Credential>()> fetch,
                  std::vector<std::string> passed_over)
      : GoogleIdentity(std::move(fetch), std::move(passed_over)), name_(std::move(name)) {}
  std::string describe() const override { return name_; }

 private:
  const std::string name_;
};

// What the metadata server said, known only once it is asked.
struct Metadata {
  Mutex mutex;
  bool nobody STAGE_GUARDED_BY(mutex) = true;
  std::string why STAGE_GUARDED_BY(mutex);

  // A token that was there once does not turn into nobody in mid-transfer.
  Result<Credential> say_nobody(std::string reason) STAGE_REQUIRES(mutex) {
    if (!nobody) return fail(ExitCode::kSource, std::move(reason));
    why = std::move(reason);
    return Credential{};
  }
};

class MetadataIdentity final : public GoogleIdentity {
 public:
  MetadataIdentity(std::shared_ptr<Metadata> known, std::function<Result<Credential>()> fetch,
                   std::vector<std::string> passed_over)
      : GoogleIdentity(std::move(fetch), std::move(passed_over)), known_(std::move(known)) {}
  std::string describe() const override {
    const MutexLock lock(known_->mutex);
    if (!known_->nobody) return "service account of the metadata server";
    return known_->why.empty() ? "anonymous" : "anonymous (" + known_->why + ")";
  }

 private:
  const std::shared_ptr<Metadata> known_;
};

Result<Credential> ask_metadata(const std::string& origin, const http::Exchange& exchange,
                                Metadata& known) {
  constexpr std::string_view kWho = "the metadata server of Google Cloud";
  http::ExchangeRequest asked;
  asked.request.origin = origin;
  asked.request.path = "/computeMetadata/v1/instance/service-accounts/default/token";
  asked.request.headers = {{"Metadata-Flavor", "Google"}};
  asked.local = true;
  asked.connect_timeout_s = kLocalConnect;
  asked.timeout_s = kLocalAnswer;
  Result<http::ExchangeAnswer> answer = exchange(asked);
  if (answer && (answer->status == 429 || answer->status >= 500)) {
    answer = http::exchange_with_retries(exchange, asked, kAttempts);
  }

  const MutexLock lock(known.mutex);
  if (!answer)
    return known.say_nobody(fmt::format("{} does not answer: not on Google Cloud", kWho));
  const auto flavor = answer->headers.find("metadata-flavor");
  // Other clouds have something else at this address.
  if (flavor == answer->headers.end() || flavor->second != "Google") {
    return known.say_nobody(fmt::format("who answers at {} is not {}", origin, kWho));
  }
  if (answer->status == 404) return known.say_nobody("this machine has no service account");
  if (answer->status != 200) {
    return fail(ExitCode::kSource,
                fmt::format("{} gives no token (HTTP {}): try later", kWho, answer->status));
  }
  Result<Credential> proof = parse_google_token(answer->body, std::time(nullptr));
  if (!proof) return fail(proof.error().code, fmt::format("{}: {}", kWho, proof.error().message));
  known.nobody = false;
  known.why.clear();
  return proof;
}

// A key file's contents.
struct KeyFile {
  std::string type, email, key_id, private_key, token_uri;
  std::string client_id, client_secret, refresh_token;
};

Result<KeyFile> parse_key_file(const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(json).get(root) != simdjson::SUCCESS || !root.is_object()) {
    return fail(ExitCode::kSource, "is not a key file of Google Cloud: not JSON");
  }
  const auto text = [&root](const char* name) {
    std::string_view value;
    return root[name].get(value) == simdjson::SUCCESS ? std::string(value) : std::string();
  };
  KeyFile file = {text("type"),          text("client_email"), text("private_key_id"),
                  text("private_key"),   text("token_uri"),    text("client_id"),
                  text("client_secret"), text("refresh_token")};
  if (file.token_uri.empty()) file.token_uri = "https://oauth2.googleapis.com/token";
  const bool account =
      file.type == "service_account" && !file.email.empty() && !file.private_key.empty();
  const bool user = file.type == "authorized_user" && !file.refresh_token.empty();
  if (!account && !user) {
    return fail(ExitCode::kSource,
                fmt::format("is of type '{}', which is not supported or not complete: use the key "
                            "of a service account, or the node's own identity",
                            is_plain(file.type) ? file.type.substr(0, 40) : "?"));
  }
  if (!is_plain(file.email) || !is_plain(file.key_id) || !is_plain(file.token_uri)) {
    return fail(ExitCode::kSource, "holds control characters");
  }
  return file;
}

Result<Credential> exchange_key(const KeyFile& file, const http::Exchange& exchange) {
  Result<http::Url> url = http::parse_url(file.token_uri);
  if (!url) return fail(ExitCode::kSource, "its token_uri: " + url.error().message);
  if (url->scheme != "https" && !is_loopback(url->host)) {
    return fail(ExitCode::kSource, "its token_uri is not https");
  }
  http::ExchangeRequest asked;
  asked.request.method = "POST";
  asked.request.origin = url->origin();
  asked.request.path = url->path;
  asked.request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  if (file.type == "service_account") {
    Result<std::string> jwt =
        google_jwt(file.email, file.key_id, file.private_key, file.token_uri, std::time(nullptr));
    if (!jwt) return tl::unexpected(jwt.error());
    asked.body = http::format_query(
        {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"}, {"assertion", *jwt}});
  } else {
    asked.body = http::format_query({{"grant_type", "refresh_token"},
                                     {"client_id", file.client_id},
                                     {"client_secret", file.client_secret},
                                     {"refresh_token", file.refresh_token}});
  }
  Result<http::ExchangeAnswer> answer = http::exchange_with_retries(exchange, asked, kAttempts);
  if (!answer) {
    return fail(ExitCode::kSource, fmt::format("{}: {}", url->host, answer.error().message));
  }
  if (answer->status != 200) {
    return fail(
        ExitCode::kSource,
        fmt::format("{} gives no token for it (HTTP {}): is the key deleted or disabled, or "
                    "this node's clock wrong?",
                    url->host, answer->status));
  }
  return parse_google_token(answer->body, std::time(nullptr));
}

Result<IdentityPtr> from_file(const std::string& path, const std::string& text,
                              std::vector<std::string> passed_over, http::Exchange exchange) {
  Result<KeyFile> file = parse_key_file(text);
  if (!file) return fail(file.error().code, path + " " + file.error().message);
  if (file->type == "service_account") {
    // A key that is none is said at once.
    if (auto jwt = google_jwt(file->email, file->key_id, file->private_key, "x", 0); !jwt) {
      return fail(jwt.error().code, path + ": " + jwt.error().message);
    }
  }
  std::string name =
      file->type == "service_account" ? "service account " + file->email : "user of " + path;
  return std::make_shared<KeyFileIdentity>(
      std::move(name),
      [path, file = *file, exchange = std::move(exchange)]() -> Result<Credential> {
        Result<Credential> proof = exchange_key(file, exchange);
        if (!proof) return fail(proof.error().code, path + ": " + proof.error().message);
        return proof;
      },
      std::move(passed_over));
}

}  // namespace

Result<Credential> parse_google_token(const std::string& json, std::time_t now) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  std::string_view token;
  std::int64_t life = 0;
  if (parser.parse(json).get(root) != simdjson::SUCCESS ||
      root["access_token"].get(token) != simdjson::SUCCESS || token.empty() || !is_plain(token)) {
    return fail(ExitCode::kSource, "the answer holds no token");
  }
  if (root["expires_in"].get(life) != simdjson::SUCCESS || life <= 0 || life > kLongestLife) {
    return fail(ExitCode::kSource, "the answer does not say how long its token holds");
  }
  return Credential{std::string(token), now + static_cast<std::time_t>(life)};
}

Result<IdentityPtr> choose_google(const Variables& variables, http::Exchange exchange) {
  std::vector<std::string> passed_over;
  if (!variable(variables, "STORAGE_EMULATOR_HOST").empty()) {
    return std::make_shared<Anonymous>("STORAGE_EMULATOR_HOST is set");
  }
  constexpr char kFile[] = "GOOGLE_APPLICATION_CREDENTIALS";
  if (const std::string path = variable(variables, kFile); !path.empty()) {
    Result<std::string> text = read_secret_file(path);
    if (!text) return fail(ExitCode::kSource, fmt::format("{}: {}", kFile, text.error().message));
    return from_file(path, *text, std::move(passed_over), std::move(exchange));
  }
  passed_over.emplace_back("key file: GOOGLE_APPLICATION_CREDENTIALS is not set");

  std::string folder = variable(variables, "CLOUDSDK_CONFIG");
  if (folder.empty()) folder = home_directory(variables) + "/.config/gcloud";
  const std::string path = folder + "/application_default_credentials.json";
  Result<std::string> text = read_secret_file(path);
  if (text) return from_file(path, *text, std::move(passed_over), std::move(exchange));
  passed_over.push_back("gcloud: " + text.error().message);

  if (variable(variables, "NO_GCE_CHECK") == "true") {
    return std::make_shared<Anonymous>("NO_GCE_CHECK is set");
  }
  std::string host = variable(variables, "GCE_METADATA_HOST");
  // By address: where there is no such server its name may take long not to be found.
  if (host.empty()) host = "169.254.169.254";
  Result<http::Url> url = http::parse_url("http://" + host);
  if (!url) return fail(ExitCode::kSource, "GCE_METADATA_HOST: " + url.error().message);
  auto known = std::make_shared<Metadata>();
  return std::make_shared<MetadataIdentity>(
      known,
      [known, origin = url->origin(), exchange = std::move(exchange)] {
        return ask_metadata(origin, exchange, *known);
      },
      std::move(passed_over));
}

}  // namespace stage_model::auth
