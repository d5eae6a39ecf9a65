#include "engine/source/gcs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/auth/google.h"
#include "engine/base/clock.h"
#include "engine/http/client.h"
#include "engine/http/exchange.h"
#include "engine/source/gcs_dialect.h"
#include "engine/source/gcs_list.h"
#include "engine/source/http_fetcher.h"
#include "engine/source/identified.h"
#include "engine/source/pages.h"
#include "engine/source/register.h"
#include "engine/source/show.h"

namespace stage_model::source {
namespace {

constexpr std::string_view kPrefix = "gs://";
constexpr char kPublic[] = "https://storage.googleapis.com";
constexpr unsigned kPageSize = 1000;

struct Place {
  std::string origin;
  std::string objects;  // encoded path of the bucket's objects: ".../b/BUCKET/o"
};

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

// STORAGE_EMULATOR_HOST, with or without "http://"; gcloud's override, with the API's path
// ("https://host/storage/v1/"); else the public one. Errors: kSource.
Result<Place> find_place(const std::string& bucket, const Variables& variables) {
  constexpr char kEmulator[] = "STORAGE_EMULATOR_HOST";
  constexpr char kOverride[] = "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE";
  std::string origin = kPublic;
  std::string base = "/storage/v1";
  for (const char* name : {kEmulator, kOverride}) {
    std::string text = variable(variables, name);
    if (text.empty()) continue;
    const bool emulator = name == kEmulator;
    if (emulator && text.find("://") == std::string::npos) text.insert(0, "http://");
    Result<http::Url> url = http::parse_url(text);
    if (!url) return fail(ExitCode::kSource, fmt::format("{}: {}", name, url.error().message));
    if (!emulator && url->scheme != "https" && !is_loopback(url->host)) {
      return fail(ExitCode::kSource,
                  fmt::format("{}: a token is not sent in clear: use an https URL", name));
    }
    while (url->path.ends_with('/')) url->path.pop_back();
    if (url->path.ends_with(base)) url->path.resize(url->path.size() - base.size());
    origin = url->origin();
    base.insert(0, url->path);
    break;
  }
  return Place{origin, base + "/b/" + http::encode(bucket) + "/o"};
}

class Gcs final : public IdentifiedSource {
 public:
  Gcs(std::string bucket, std::string path, Place place, auth::IdentityPtr identity,
      const http::Environment& environment, const TransferOptions& options, unsigned page_size)
      : IdentifiedSource(std::move(identity)),
        bucket_(std::move(bucket)),
        path_(std::move(path)),
        place_(std::move(place)),
        environment_(environment),
        options_(options),
        page_size_(page_size),
        dialect_(bucket_, identity_) {}

  Result<plan::Listing> list() override {
    if (Status status = prepare_identity(); !status) return tl::unexpected(status.error());
    http::Client client(http_options(options_, started_), environment_, identity_, dialect_);
    Result<plan::Listing> listing =
        list_pages(path_, display(), page_size_,
                   [&](const std::string& prefix, const std::string& from, unsigned most) {
                     return get_page(client, prefix, from, most);
                   });
    if (listing) listing->resolved = place_.origin + "\n" + place_.objects;
    return listing;
  }

  // Rank 0 may have found the endpoint in variables that this rank lacks.
  Status adopt(const std::string& resolved) override {
    const std::size_t end = resolved.find('\n');
    if (end == std::string::npos) {
      return fail(ExitCode::kSource, "rank 0 sent an endpoint that this version does not know");
    }
    place_ = {resolved.substr(0, end), resolved.substr(end + 1)};
    return {};
  }

  Result<std::unique_ptr<Fetcher>> fetcher(const TransferOptions& options) override {
    if (Status status = prepare_identity(); !status) return tl::unexpected(status.error());
    return make_http_fetcher(
        http_options(options, started_), options.block_size, environment_, identity_, dialect_,
        [place = place_](const plan::Object& object) {
          http::Request request;
          request.origin = place.origin;
          request.path = place.objects + "/" + http::encode(object.key);
          request.query = {{"alt", "media"}, {"ifGenerationMatch", object.etag}};
          // Without it the store unpacks what was stored with "Content-Encoding: gzip": other bytes
          // than those that it states size and hash of, and no ranges.
          request.headers.emplace_back("Accept-Encoding", "gzip");
          return request;
        });
  }

 private:
  std::string display() const override { return "gs://" + bucket_ + "/" + show(path_); }

  Result<Page> get_page(http::Client& client, const std::string& prefix, const std::string& from,
                        unsigned most) {
    http::Request request;
    request.origin = place_.origin;
    request.path = place_.objects;
    request.query = {{"maxResults", std::to_string(most)},
                     {"fields", "kind,nextPageToken,items(name,size,generation,md5Hash,crc32c)"}};
    if (!prefix.empty()) request.query.emplace_back("prefix", prefix);
    if (!from.empty()) request.query.emplace_back("pageToken", from);
    return ask_for_page(client, request, display(), parse_gcs_page);
  }

  const std::string bucket_, path_;
  Place place_;
  const http::Environment environment_;
  const TransferOptions options_;
  const unsigned page_size_;
  const double started_ = now();
  const GcsDialect dialect_;
};

bool is_gcs_url(std::string_view url, const Variables&) { return url.starts_with(kPrefix); }

Result<std::unique_ptr<Source>> open_plain(std::string_view url, const Variables& variables,
                                           const TransferOptions& options) {
  return open_gcs(url, variables, options, kPageSize);
}

bool bucket_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

}  // namespace

extern const Kind kGcs;
const Kind kGcs = {"gs://BUCKET/PREFIX/", is_gcs_url, open_plain};

Result<std::unique_ptr<Source>> open_gcs(std::string_view text, const Variables& variables,
                                         const TransferOptions& options, unsigned page_size) {
  text.remove_prefix(kPrefix.size());
  std::string bucket(text.substr(0, text.find('/')));
  std::string path(text.substr(std::min(text.size(), bucket.size() + 1)));
  if (bucket.size() < 3 || bucket.size() > 222 ||
      !std::all_of(bucket.begin(), bucket.end(), bucket_byte) ||
      path.find('\0') != std::string::npos) {
    return fail(ExitCode::kUsage,
                fmt::format("'{}' is not the name of a bucket (3 or more lower-case letters, "
                            "digits, dots and dashes): gs://BUCKET/PREFIX/",
                            show(bucket)));
  }
  Result<Place> place = find_place(bucket, variables);
  if (!place) return tl::unexpected(place.error());
  const http::Environment environment = http::read_environment(variables);
  auto identity = auth::choose_google(variables, http::make_exchange(environment));
  if (!identity)
    return fail(identity.error().code,
                fmt::format("gs://{}: {}", bucket, identity.error().message));
  return std::make_unique<Gcs>(std::move(bucket), std::move(path), std::move(*place),
                               std::move(*identity), environment, options, page_size);
}

}  // namespace stage_model::source
