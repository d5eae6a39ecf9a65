#include "engine/source/azure.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <tuple>
#include <utility>

#include "engine/auth/azure.h"
#include "engine/base/clock.h"
#include "engine/http/client.h"
#include "engine/http/exchange.h"
#include "engine/source/azure_dialect.h"
#include "engine/source/azure_list.h"
#include "engine/source/azure_url.h"
#include "engine/source/http_fetcher.h"
#include "engine/source/identified.h"
#include "engine/source/pages.h"
#include "engine/source/register.h"
#include "engine/source/show.h"

namespace stage_model::source {
namespace {

constexpr char kApiVersion[] = "2021-08-06";
constexpr unsigned kPageSize = 5000;

class Azure final : public IdentifiedSource {
 public:
  Azure(AzureUrl url, auth::IdentityPtr identity, const Variables& variables,
        const TransferOptions& options, unsigned page_size, std::vector<std::string> passed_over)
      : IdentifiedSource(std::move(identity)),
        url_(std::move(url)),
        passed_over_(std::move(passed_over)),
        environment_(http::read_environment(variables)),
        options_(options),
        page_size_(page_size),
        dialect_(url_.account, url_.container, identity_) {}

  Result<plan::Listing> list() override {
    if (Status status = of_model(identity_->check(std::time(nullptr))); !status) {
      return tl::unexpected(status.error());
    }
    if (Status status = prepare_identity(); !status) return tl::unexpected(status.error());
    http::Client client(http_options(options_, started_), environment_, identity_, dialect_);
    Result<plan::Listing> listing =
        identity_->for_one_object()
            ? list_one(client)
            : list_pages(url_.path, display(), page_size_,
                         [&](const std::string& prefix, const std::string& from, unsigned most) {
                           return get_page(client, prefix, from, most);
                         });
    if (listing) listing->resolved = resolved();
    return listing;
  }

  // Rank 0 may have found the endpoint in variables that this rank lacks.
  Status adopt(const std::string& resolved) override {
    const std::size_t end = resolved.find('\n');
    if (end == std::string::npos) {
      return fail(ExitCode::kSource, "rank 0 sent an endpoint that this version does not know");
    }
    url_.origin = resolved.substr(0, end);
    url_.base = resolved.substr(end + 1);
    return {};
  }

  Result<std::unique_ptr<Fetcher>> fetcher(const TransferOptions& options) override {
    if (Status status = of_model(identity_->check(std::time(nullptr))); !status) {
      return tl::unexpected(status.error());
    }
    return make_http_fetcher(
        http_options(options, started_), options.block_size, environment_, identity_, dialect_,
        [origin = url_.origin, container = container_path()](const plan::Object& object) {
          http::Request request;
          request.origin = origin;
          request.path = container + "/" + http::encode_path(object.key);
          request.headers.emplace_back("x-ms-version", kApiVersion);
          return request;
        });
  }

  Result<std::string> whoami() override {
    if (Status status = identity_->prepare(); !status) return tl::unexpected(status.error());
    if (identity_->by_key()) try_key();
    std::vector<std::string> reasons = passed_over_;
    for (const std::string& why : identity_->passed_over()) {
      if (std::find(reasons.begin(), reasons.end(), why) == reasons.end()) reasons.push_back(why);
    }
    std::string out = fmt::format("{}: {}", display(), identity_->describe());
    for (const std::string& why : reasons) out += "\n  not " + why;
    return out;
  }

 private:
  // Only the account can say whether it accepts keys: if not, identity_ is another then.
  void try_key() {
    TransferOptions brief = options_;
    brief.max_retries = 0;
    brief.connect_timeout_s = 5;
    http::Client client(http_options(brief, started_), environment_, identity_, dialect_);
    std::ignore = get_page(client, url_.path, "", 1);  // other failures are not about who we are
  }

  // "$root" is sent as it is written: Azure signs it so.
  std::string container_path() const { return url_.base + "/" + url_.container; }
  std::string resolved() const { return url_.origin + "\n" + url_.base; }
  std::string display() const override {
    return url_.origin + container_path() + "/" + http::encode_path(url_.path);
  }

  // A signature for one blob cannot list: what a HEAD says takes the place of the list.
  Result<plan::Listing> list_one(http::Client& client) {
    if (url_.path.empty() || url_.path.ends_with('/')) {
      return fail(ExitCode::kSource,
                  display() +
                      ": the SAS is for a single blob (sr=b): name that blob, without a "
                      "slash at the end, or use a SAS for the container (sr=c)");
    }
    http::Request request;
    request.method = "HEAD";
    request.origin = url_.origin;
    request.path = container_path() + "/" + http::encode_path(url_.path);
    request.headers.emplace_back("x-ms-version", kApiVersion);
    Result<http::Response> answer = client.perform(request, "object '" + show(url_.path) + "'", 0);
    if (!answer) return tl::unexpected(answer.error());
    Result<Entry> entry = parse_azure_headers(url_.path, answer->headers);
    if (!entry) return fail(entry.error().code, display() + ": " + entry.error().message);
    return make_single(std::move(*entry), display());
  }

  Result<Page> get_page(http::Client& client, const std::string& prefix, const std::string& from,
                        unsigned most) {
    http::Request request;
    request.origin = url_.origin;
    request.path = container_path();
    request.query = {{"restype", "container"},
                     {"comp", "list"},
                     {"include", "metadata"},
                     {"maxresults", std::to_string(most)}};
    if (!prefix.empty()) request.query.emplace_back("prefix", prefix);
    if (!from.empty()) request.query.emplace_back("marker", from);
    request.headers.emplace_back("x-ms-version", kApiVersion);
    return ask_for_page(client, request, display(), parse_azure_page);
  }

  AzureUrl url_;
  std::vector<std::string> passed_over_;
  http::Environment environment_;
  TransferOptions options_;
  unsigned page_size_;
  double started_ = now();
  AzureDialect dialect_;
};

// Tokens are not sent in clear, except to this machine, where only tests and tunnels listen; those
// that no variable speaks of are not even asked for then. They open all that the user may read, so
// they do not go to a host either that only the URL calls Azure's.
auth::AzureSurroundings surroundings(const std::string& origin, const Variables& variables) {
  auth::AzureSurroundings out;
  out.authority = azure_authority(origin);
  out.implicit = origin.starts_with("https://");
  const bool known = !out.implicit || is_trusted_azure(origin, variables);
  if (known && auth::is_safe_for_secrets(origin)) {
    out.exchange = http::make_exchange(http::read_environment(variables));
  }
  return out;
}

Result<std::unique_ptr<Source>> open_plain(std::string_view url, const Variables& variables,
                                           const TransferOptions& options) {
  return open_azure(url, variables, options, kPageSize);
}

}  // namespace

extern const Kind kAzure;
const Kind kAzure = {"az://ACCOUNT/CONTAINER/PREFIX/", is_azure_url, open_plain};

Result<std::unique_ptr<Source>> open_azure(std::string_view text, const Variables& variables,
                                           const TransferOptions& options, unsigned page_size) {
  Result<AzureUrl> url = parse_azure_url(text, variables);
  if (!url) return tl::unexpected(url.error());
  std::vector<std::string> passed_over;
  Result<auth::IdentityPtr> identity = auth::choose_azure(
      url->account, url->sas, variables, surroundings(url->origin, variables), &passed_over);
  if (!identity) return tl::unexpected(identity.error());
  if (Status status = (*identity)->check(std::time(nullptr)); !status) {
    return fail(status.error().code, fmt::format("{} for account {}: {}", (*identity)->describe(),
                                                 url->account, status.error().message));
  }
  return std::make_unique<Azure>(std::move(*url), std::move(*identity), variables, options,
                                 page_size, std::move(passed_over));
}

}  // namespace stage_model::source
