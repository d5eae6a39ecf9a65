#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <random>
#include <thread>

#include "engine/auth/azure_login.h"
#include "engine/base/variables.h"

namespace stage_model::auth {
namespace {

constexpr char kAddress[] = "http://169.254.169.254";
constexpr double kFirstPause = 0.8;  // seconds; doubles
constexpr double kMaxPause = 20;
// The service may be away for 70 s while it is updated.
constexpr double kPatience = 90;
constexpr double kConnect = 1.0;  // it is on the same host: elsewhere there is none

std::string_view header(const http::ExchangeAnswer& answer, const char* name) {
  const auto found = answer.headers.find(name);
  return found == answer.headers.end() ? std::string_view() : std::string_view(found->second);
}

// Other clouds have services of their own at that address.
bool is_another_clouds(const http::ExchangeAnswer& answer) {
  const std::string_view server = header(answer, "server");
  return !header(answer, "metadata-flavor").empty() || server.starts_with("EC2ws") ||
         server.starts_with("Metadata Server");
}

// Azure's own says so even where it answers 404, as it does while it is updated. Metadata services
// of other clouds mostly say nothing of themselves, only 404 for what they do not know.
bool is_azures(const http::ExchangeAnswer& answer) {
  const std::string_view server = header(answer, "server");
  return server.starts_with("IMDS") || server.starts_with("Microsoft");
}

bool not_now(int status) {
  return status == 404 || status == 410 || status == 429 || status >= 500;
}

double asked_pause(const http::ExchangeAnswer& answer) {
  unsigned seconds = 0;
  const std::string_view text = header(answer, "retry-after");
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return std::min<double>(seconds, kMaxPause);
}

struct Imds {
  http::Exchange exchange;
  std::function<void(double)> sleep;
  std::string origin, base, client;
  bool named = false;  // by a variable: then whoever answers is it

  http::ExchangeRequest request() const {
    http::ExchangeRequest asked;
    asked.local = true;
    asked.connect_timeout_s = kConnect;
    asked.request.origin = origin;
    asked.request.path = base + "/metadata/identity/oauth2/token";
    asked.request.query = {{"api-version", "2018-02-01"}, {"resource", kStorageResource}};
    if (!client.empty()) asked.request.query.emplace_back("client_id", client);
    asked.request.headers = {{"Metadata", "true"}};
    return asked;
  }

  Result<std::optional<Credential>> fetch(std::string& why) const {
    thread_local std::minstd_rand random{std::random_device()()};
    double pause = kFirstPause;
    double waited = 0;
    bool answered = false;
    while (true) {
      Result<http::ExchangeAnswer> answer = exchange(request());
      if (!answer && !answered) {
        why = fmt::format("no IMDS at {}", origin);
        return std::nullopt;
      }
      answered = true;
      if (answer && answer->status == 200) return token(*answer);
      if (answer && (is_another_clouds(*answer) ||
                     (answer->status == 404 && !named && !is_azures(*answer)))) {
        why = fmt::format("the metadata service at {} is not Azure's", origin);
        return std::nullopt;
      }
      if (answer && !not_now(answer->status)) return refused(*answer, why);
      const double spread = std::uniform_real_distribution<>(0.5, 1.5)(random);
      const double asked = answer ? asked_pause(*answer) : 0;
      const double wait = std::max(asked, std::min(pause * spread, kMaxPause));
      if (waited + wait > kPatience) return gave_up(answer);
      sleep(wait);
      waited += wait;
      pause *= 2;
    }
  }

  Result<std::optional<Credential>> token(const http::ExchangeAnswer& answer) const {
    Result<Credential> proof = parse_azure_token(answer.body, std::time(nullptr));
    if (!proof) return fail(ExitCode::kSource, fmt::format("IMDS: {}", proof.error().message));
    return std::optional<Credential>(std::move(*proof));
  }

  Result<std::optional<Credential>> refused(const http::ExchangeAnswer& answer,
                                            std::string& why) const {
    const std::string code = azure_error_code(answer.body);
    // 400 is how it says that the machine has no such identity.
    if (answer.status == 400 && client.empty()) {
      why = fmt::format(
          "IMDS says that this machine has no identity, or several and AZURE_CLIENT_ID "
          "chooses none (HTTP 400 {})",
          code);
      return std::nullopt;
    }
    if (answer.status == 400) {
      return fail(ExitCode::kSource,
                  fmt::format("IMDS: this machine has no identity with AZURE_CLIENT_ID {}: assign "
                              "it, or unset the variable (HTTP 400 {})",
                              client, code));
    }
    return fail(ExitCode::kSource, fmt::format("IMDS refuses a token: HTTP {} {}: is access to {} "
                                               "blocked on this node?",
                                               answer.status, code, origin));
  }

  Result<std::optional<Credential>> gave_up(const Result<http::ExchangeAnswer>& answer) const {
    if (!answer) {
      return fail(ExitCode::kSource,
                  fmt::format("IMDS at {} stopped answering: {}", origin, answer.error().message));
    }
    return fail(ExitCode::kSource,
                fmt::format("IMDS at {} gives no token for {} s: HTTP {}{}", origin, kPatience,
                            answer->status,
                            answer->status == 429 ? ": too many processes on this node ask"
                            : answer->status == 404 || answer->status == 410
                                ? ": the service is being updated, or the identity was just made"
                                : ": the service is in trouble"));
  }
};

}  // namespace

AzureTokenWay azure_managed_identity(const Variables& variables,
                                     const AzureSurroundings& surroundings) {
  Imds imds;
  imds.exchange = surroundings.exchange;
  imds.sleep = surroundings.sleep ? surroundings.sleep : [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  imds.client = variable(variables, "AZURE_CLIENT_ID");
  if (imds.client.empty()) imds.client = variable(variables, "AZCOPY_MSI_CLIENT_ID");
  std::string address = variable(variables, "AZURE_POD_IDENTITY_AUTHORITY_HOST");
  imds.named = !address.empty();
  if (!imds.named) address = kAddress;
  while (address.ends_with('/')) address.pop_back();
  const Result<http::Url> url = http::parse_url(address);
  if (url) {
    imds.origin = url->origin();
    imds.base = url->path;
  }
  AzureTokenWay way;
  way.name = "managed identity" + (imds.client.empty() ? "" : " " + imds.client);
  way.fetch = [imds,
               usable = url.has_value()](std::string& why) -> Result<std::optional<Credential>> {
    if (!usable) {
      return fail(ExitCode::kSource, "AZURE_POD_IDENTITY_AUTHORITY_HOST is not an http URL");
    }
    return imds.fetch(why);
  };
  return way;
}

}  // namespace stage_model::auth
