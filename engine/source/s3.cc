#include "engine/source/s3.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/auth/aws.h"
#include "engine/base/clock.h"
#include "engine/base/crypto.h"
#include "engine/base/parallel.h"
#include "engine/http/client.h"
#include "engine/http/exchange.h"
#include "engine/source/http_fetcher.h"
#include "engine/source/identified.h"
#include "engine/source/pages.h"
#include "engine/source/register.h"
#include "engine/source/s3_dialect.h"
#include "engine/source/s3_list.h"
#include "engine/source/s3_url.h"
#include "engine/source/show.h"

namespace stage_model::source {
namespace {

constexpr unsigned kPageSize = 1000;
// A HEAD for each object that may have a hash costs little for a model; not for a lake of files.
constexpr std::size_t kMostHeads = 2000;
constexpr unsigned kQuestionsAtOnce = 16;

// The hash that a HEAD proves to be one of the object's bytes.
plan::StoreHash proven_hash(const http::Headers& headers, const std::string& etag) {
  using Kind = plan::StoreHash::Kind;
  // A checksum of parts has "-N" behind it, which is no base64.
  const auto sha256 = base64_decode(http::header(headers, "x-amz-checksum-sha256"));
  if (sha256 && sha256->size() == 32) return {Kind::kSha256, *sha256};
  const auto crc32c = base64_decode(http::header(headers, "x-amz-checksum-crc32c"));
  if (crc32c && crc32c->size() == 4) return {Kind::kCrc32c, *crc32c};
  // With keys of KMS or of the customer the ETag looks like an MD5 and is none.
  const auto encryption = http::header(headers, "x-amz-server-side-encryption");
  const bool plain = encryption.empty() || encryption == "AES256";
  const bool customer =
      !http::header(headers, "x-amz-server-side-encryption-customer-algorithm").empty();
  std::string md5 = md5_of_etag(etag);
  if (plain && !customer && md5.size() == 16) return {Kind::kMd5, std::move(md5)};
  return {};
}

class S3 final : public IdentifiedSource {
 public:
  S3(S3Url url, S3Service service, std::shared_ptr<const auth::AwsLogin> login, std::string region,
     const http::Environment& environment, const TransferOptions& options, unsigned page_size)
      : url_(std::move(url)),
        service_(std::move(service)),
        login_(std::move(login)),
        environment_(environment),
        options_(options),
        page_size_(page_size),
        dialect_(url_.bucket) {
    use_region(std::move(region));
  }

  Result<plan::Listing> list() override {
    if (Status status = prepare_identity(); !status) return tl::unexpected(status.error());
    Result<plan::Listing> listing = list_here();
    // Asked in the wrong region: once more in the one that the answer names.
    if (const std::string other = dialect_.other_region(); !listing && !other.empty()) {
      use_region(other);
      listing = list_here();
    }
    if (listing) listing->resolved = region_ + "\n" + place_.origin + "\n" + place_.base;
    return listing;
  }

  // Rank 0 may have found the endpoint in variables or a profile that this rank lacks.
  Status adopt(const std::string& resolved) override {
    const std::size_t first = resolved.find('\n');
    const std::size_t last = resolved.rfind('\n');
    if (first == last || !is_region(resolved.substr(0, first))) {
      return fail(ExitCode::kSource, "rank 0 sent an endpoint that this version does not know");
    }
    use_region(resolved.substr(0, first));
    place_ = {resolved.substr(first + 1, last - first - 1), resolved.substr(last + 1)};
    return {};
  }

  Result<std::unique_ptr<Fetcher>> fetcher(const TransferOptions& options) override {
    if (Status status = prepare_identity(); !status) return tl::unexpected(status.error());
    return make_http_fetcher(
        http_options(options, started_), options.block_size, environment_, identity_, dialect_,
        [place = place_](const plan::Object& object) { return object_request(place, object.key); });
  }

 private:
  static http::Request object_request(const S3Place& place, const std::string& key) {
    http::Request request;
    request.origin = place.origin;
    request.path = place.base + "/" + http::encode_path(key);
    return request;
  }

  void use_region(std::string region) {
    region_ = std::move(region);
    place_ = s3_place(service_, url_.bucket, region_);
    identity_ = auth::aws_identity(login_, {region_, "s3"});
    dialect_.set(identity_, region_);
  }

  std::string display() const override { return "s3://" + url_.bucket + "/" + show(url_.path); }

  Result<plan::Listing> list_here() {
    http::Client client(http_options(options_, started_), environment_, identity_, dialect_);
    return list_pages(
        url_.path, display(), page_size_,
        [&](const std::string& prefix, const std::string& from, unsigned most) {
          return get_page(client, prefix, from, most);
        },
        [&](std::vector<Entry>& entries) { look_closer(client, entries); });
  }

  Result<Page> get_page(http::Client& client, const std::string& prefix, const std::string& from,
                        unsigned most) {
    http::Request request;
    request.origin = place_.origin;
    request.path = place_.base.empty() ? "/" : place_.base;
    request.query = {
        {"list-type", "2"}, {"encoding-type", "url"}, {"max-keys", std::to_string(most)}};
    if (!prefix.empty()) request.query.emplace_back("prefix", prefix);
    if (!from.empty()) request.query.emplace_back("continuation-token", from);
    request.headers.emplace_back("x-amz-optional-object-attributes", "RestoreStatus");
    return ask_for_page(client, request, display(), parse_s3_page);
  }

  // What the list leaves open and a HEAD answers: is an archived object restored, and which hash is
  // one of the bytes? No answer is no error: then there is no hash, and the GET will tell.
  void look_closer(http::Client& client, std::vector<Entry>& entries) const {
    std::vector<Entry*> wanted;
    for (Entry& entry : entries) {
      const bool hash = entry.size > 0 && (entry.head_has_hash || !md5_of_etag(entry.etag).empty());
      if (entry.archived || hash) wanted.push_back(&entry);
    }
    if (wanted.size() > kMostHeads) {
      std::erase_if(wanted, [](const Entry* entry) { return !entry->archived; });
      wanted.resize(std::min(wanted.size(), kMostHeads));
    }
    // A server in trouble with one HEAD has it with all, and each would be asked again for minutes.
    static_cast<void>(parallel_for(wanted.size(), kQuestionsAtOnce, [&](std::size_t i) -> Status {
      Status status = look_at(client, *wanted[i]);
      if (!status && status.error().code == ExitCode::kSource) return {};  // of this object only
      return status;
    }));
    say_archived(entries);
  }

  Status look_at(http::Client& client, Entry& entry) const {
    http::Request request = object_request(place_, entry.key);
    request.method = "HEAD";
    request.headers.emplace_back("x-amz-checksum-mode", "ENABLED");
    if (!entry.etag.empty()) request.headers.emplace_back("If-Match", entry.etag);
    const auto answer = client.perform(request, "object '" + show(entry.key) + "'", 0);
    if (!answer) return tl::unexpected(answer.error());
    entry.hash = proven_hash(answer->headers, entry.etag);
    const auto restore = http::header(answer->headers, "x-amz-restore");
    if (restore.find("ongoing-request=\"false\"") != std::string_view::npos) entry.archived = false;
    // Intelligent tiering: lists do not say that an object sleeps.
    const auto status = http::header(answer->headers, "x-amz-archive-status");
    if (!status.empty() && restore.empty()) entry.archived = true;
    return {};
  }

  // Refused by plan, unless filters leave it out.
  static void say_archived(std::vector<Entry>& entries) {
    for (Entry& entry : entries) {
      if (!entry.archived) continue;
      entry.unusable =
          "is archived: restore it first (aws s3api restore-object) and wait until that is done, "
          "or exclude it";
    }
  }

  const S3Url url_;
  const S3Service service_;
  const std::shared_ptr<const auth::AwsLogin> login_;
  const http::Environment environment_;
  const TransferOptions options_;
  const unsigned page_size_;
  const double started_ = now();
  S3Dialect dialect_;
  std::string region_;
  S3Place place_;
};

bool is_s3_url(std::string_view url, const Variables&) { return url.starts_with("s3://"); }

Result<std::unique_ptr<Source>> open_plain(std::string_view url, const Variables& variables,
                                           const TransferOptions& options) {
  return open_s3(url, variables, options, kPageSize);
}

}  // namespace

extern const Kind kS3;
const Kind kS3 = {"s3://BUCKET/PREFIX/", is_s3_url, open_plain};

Result<std::unique_ptr<Source>> open_s3(std::string_view text, const Variables& variables,
                                        const TransferOptions& options, unsigned page_size) {
  Result<S3Url> url = parse_s3_url(text);
  if (!url) return tl::unexpected(url.error());
  const auth::AwsProfile profile = auth::read_aws_profile(variables);
  Result<S3Service> service = find_s3_service(variables, profile);
  if (!service) return tl::unexpected(service.error());
  const std::string region = auth::aws_region(variables, profile);
  if (!is_region(region)) {
    return fail(ExitCode::kSource,
                fmt::format("'{}' is not a region: check AWS_REGION", show(region)));
  }
  const http::Environment environment = http::read_environment(variables);
  auto login = auth::choose_aws(variables, profile, region, http::make_exchange(environment));
  if (!login) {
    return fail(login.error().code, fmt::format("s3://{}: {}", url->bucket, login.error().message));
  }
  return std::make_unique<S3>(std::move(*url), std::move(*service), std::move(*login), region,
                              environment, options, page_size);
}

}  // namespace stage_model::source
