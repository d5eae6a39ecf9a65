// Files on any web server: one, or those that a manifest names. There is no identity but what the
// URL itself carries.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/auth/anonymous.h"
#include "engine/base/clock.h"
#include "engine/base/parallel.h"
#include "engine/base/variables.h"
#include "engine/http/client.h"
#include "engine/http/redirect.h"
#include "engine/source/entries.h"
#include "engine/source/http_fetcher.h"
#include "engine/source/https_manifest.h"
#include "engine/source/plain_http.h"
#include "engine/source/register.h"
#include "engine/source/show.h"

namespace stage_model::source {
namespace {

constexpr std::string_view kManifestScheme = "manifest+";
constexpr std::string_view kManifestEnd = ".manifest";
constexpr std::size_t kMaxManifest = 64 << 20;
// Each file of a manifest is looked at before it is downloaded; of a lake of files only those that
// several GETs bring, which could be of several versions.
constexpr std::size_t kMostLooks = 2000;
constexpr unsigned kQuestionsAtOnce = 16;
// What a server without ranges sends goes into one chunk, and no chunk is larger.
constexpr std::uint64_t kMaxWhole = 1 << 30;
// Begin the keys of objects: how they may be asked for.
constexpr std::string_view kRanges = "ranges ";
constexpr std::string_view kWhole = "whole ";

// Who copied a URL out of a browser may mean another source: " (…)", or nothing.
std::string_view meant(std::string_view host) {
  if (host == "huggingface.co") return " (of the hub: hf://ORG/NAME)";
  if (host.ends_with(".amazonaws.com")) return " (of S3: s3://BUCKET/PREFIX/)";
  if (host == "storage.googleapis.com") return " (of Cloud Storage: gs://BUCKET/PREFIX/)";
  if (host.find(".blob.") != std::string_view::npos) {
    return " (Azure under a name of the site's own: az://ACCOUNT/CONTAINER/PREFIX/ with "
           "AZURE_STORAGE_BLOB_ENDPOINT)";
  }
  return "";
}

class HttpsDialect final : public http::Dialect {
 public:
  bool redirects() const override { return true; }

  std::optional<Error> explain(const http::Failure& failure) const override {
    const int status = failure.response.status;
    if (failure.kind != http::Kind::kRefused || status < 400) return std::nullopt;
    const char* advice = status == 404 || status == 410 ? "not found: check the URL"
                         : status == 401 || status == 403
                             ? "not allowed without a login, or the URL's signature has expired"
                             : "refused";
    const bool login = status == 401 || status == 403;
    return Error{ExitCode::kSource,
                 fmt::format("{}: {}{} (HTTP {}, {})", failure.what, advice,
                             login ? meant(failure.host) : "", status, failure.host)};
  }
};

struct Found {
  std::uint64_t size = 0;
  std::string etag;
  bool ranges = false;
};

// What a login, a "not found" or the page about a file looks like when it comes as HTTP 200. A file
// of a web server's own disk is served by ranges, whatever its type.
bool is_page(const http::Headers& headers, std::string_view name) {
  return http::header(headers, "content-type").starts_with("text/html") &&
         !name.ends_with(".html") && !name.ends_with(".htm");
}

std::string version_of(const http::Headers& headers) {
  std::string etag(http::header(headers, "etag"));
  if (!etag.empty()) return etag;
  const std::string time(http::header(headers, "last-modified"));
  return time.empty() ? "" : std::string(http::kTimeTag) + time;
}

class Https final : public Source {
 public:
  Https(const http::Url& url, bool manifest, const Variables& variables,
        const TransferOptions& options)
      : host_(url.host),
        path_(url.path.empty() ? "/" : url.path),
        query_(url.query),
        manifest_(manifest),
        environment_(http::read_environment(variables)),
        options_(options) {
    home_.origin = url.origin();
    home_.target = query_.empty() ? path_ : path_ + "?" + query_;
  }

  Result<plan::Listing> list() override {
    http::Client client(http_options(options_, started_), environment_, identity_, dialect_);
    return manifest_ ? list_manifest(client) : list_file(client);
  }

  Status adopt(const std::string&) override { return {}; }

  // Queries in a manifest are signatures, and only rank 0 has read it.
  std::string handover() const override {
    std::string out;
    for (const auto& [key, way] : ways_) {
      out.append(key).append("\t").append(way.version).append("\t").append(way.query) += '\n';
    }
    return out;
  }

  Status accept(const std::string& handover) override {
    for (std::string_view rest = handover; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      const std::size_t first = line.find('\t');
      const std::size_t last = line.rfind('\t');
      if (first == last) return fail(ExitCode::kFabric, "damaged list of URLs");
      ways_.emplace(line.substr(0, first),
                    Way{std::string(line.substr(first + 1, last - first - 1)),
                        std::string(line.substr(last + 1))});
    }
    return {};
  }

  Result<std::unique_ptr<Fetcher>> fetcher(const TransferOptions& options) override {
    return make_http_fetcher(
        http_options(options, started_), options.block_size, environment_, identity_, dialect_,
        [this](const plan::Object& object) { return request_of(object.key); },
        [](const plan::Object& object) { return object.key.starts_with(kWhole); },
        [this](const plan::Object& object) {
          const auto way = ways_.find(object.key);
          const bool seen = way != ways_.end() && !way->second.version.empty();
          return seen ? way->second.version : object.etag;
        });
  }

  Result<std::string> whoami() override { return display() + ": " + identity(); }

  std::string identity() const override {
    const bool signature =
        !query_.empty() || std::any_of(ways_.begin(), ways_.end(),
                                       [](const auto& way) { return !way.second.query.empty(); });
    return signature ? "signature in the URL" : "anonymous";
  }

 private:
  // What a manifest's file needs besides what is listed of it.
  struct Way {
    std::string version;  // as the server states it, where the list has the hash in its place
    std::string query;    // of its URL: a signature, secret
  };

  std::string display() const { return home_.origin + path_; }

  static http::Request request_to(const http::Location& place) {
    http::Request request;
    request.origin = place.origin;
    request.path = place.target;
    return request;
  }

  http::Request request_of(const std::string& key) const {
    const std::string url = key.substr(key.find(' ') + 1);
    const std::size_t slash = url.find('/', url.find("://") + 3);
    http::Location place{url.substr(0, slash), url.substr(slash)};
    const auto way = ways_.find(key);
    if (way != ways_.end() && !way->second.query.empty()) {
      place.target += "?" + way->second.query;
    } else if (!manifest_ && !query_.empty()) {
      place.target += "?" + query_;
    }
    return request_to(place);
  }

  Result<plan::Listing> list_file(http::Client& client) {
    Result<std::string> name = http::decode(path_.substr(path_.rfind('/') + 1));
    if (!name) return tl::unexpected(name.error());
    Result<Found> found = look(client, home_, path_, "file " + display());
    if (!found) return tl::unexpected(found.error());
    Entry entry;
    entry.key = *name;
    entry.size = found->size;
    entry.etag = found->etag;
    Result<plan::Listing> listing = make_single(std::move(entry), display());
    if (!listing) return listing;
    listing->objects[0].name = *name;
    listing->objects[0].key = std::string(found->ranges ? kRanges : kWhole) + display();
    return listing;
  }

  // A GET of one byte, which also shows whether the server knows ranges; HEAD where that fails, as
  // it does for empty files. (HEAD first would fail for URLs that are signed for GET.)
  Result<Found> look(http::Client& client, const http::Location& place, std::string_view name,
                     const std::string& what) const {
    http::Request request = request_to(place);
    request.headers.emplace_back("Range", "bytes=0-0");
    Result<http::Response> answer = client.perform(request, what, 0);
    Found found;
    if (answer && answer->status == 206) {
      const auto range = http::parse_content_range(http::header(answer->headers, "content-range"));
      if (!range || !range->total || range->first != 0) {
        return fail(ExitCode::kSource, what + ": the server does not say how large it is");
      }
      found.ranges = true;
      found.size = *range->total;
      found.etag = version_of(answer->headers);
      return found;
    }
    if (!answer) {
      request = request_to(place);
      request.method = "HEAD";
      Result<http::Response> head = client.perform(request, what, 0);
      if (!head) return tl::unexpected(answer.error());
      answer = std::move(head);
    }
    if (is_page(answer->headers, name)) {
      return fail(
          ExitCode::kSource,
          what +
              ": the server answers with a web page (text/html), not with a file: does it "
              "want a login, or is the URL that of a page about the file? Name the file itself" +
              std::string(meant(host_)));
    }
    const auto size = http::parse_number(http::header(answer->headers, "content-length"));
    if (!size) return fail(ExitCode::kSource, what + ": the server does not say how large it is");
    if (*size > kMaxWhole) {
      return fail(ExitCode::kSource,
                  fmt::format("{}: the server does not answer with ranges, which a file of {} "
                              "bytes needs: serve it from one that does",
                              what, *size));
    }
    found.size = *size;
    found.etag = version_of(answer->headers);
    return found;
  }

  Result<plan::Listing> list_manifest(http::Client& client) {
    Result<http::Response> answer =
        client.perform(request_to(home_), "manifest " + display(), kMaxManifest);
    if (!answer) return tl::unexpected(answer.error());
    Result<std::vector<ManifestFile>> files = parse_https_manifest(answer->body, home_);
    if (!files) return fail(files.error().code, display() + ": " + files.error().message);
    const std::vector<Result<Found>> found = look_at(client, *files);
    plan::Listing listing;
    listing.source = display();
    for (std::size_t i = 0; i < files->size(); ++i) {
      // Not the file's fault: a network in trouble, the deadline.
      if (!found[i] && found[i].error().code != ExitCode::kSource) {
        return tl::unexpected(found[i].error());
      }
      listing.objects.push_back(object_of((*files)[i], found[i]));
    }
    std::sort(listing.objects.begin(), listing.objects.end(),
              [](const plan::Object& a, const plan::Object& b) { return a.name < b.name; });
    return listing;
  }

  // Which version is there, and is it the size that the manifest says? Without that the ranges of a
  // file that changes meanwhile would be of two versions.
  std::vector<Result<Found>> look_at(http::Client& client,
                                     const std::vector<ManifestFile>& files) const {
    std::vector<Result<Found>> found;
    found.reserve(files.size());
    for (const ManifestFile& file : files) found.emplace_back(Found{file.size, "", true});
    static_cast<void>(parallel_for(files.size(), kQuestionsAtOnce, [&](std::size_t i) -> Status {
      const ManifestFile& file = files[i];
      const bool one_get = file.size <= options_.block_size;
      if (file.size == 0 || (one_get && files.size() > kMostLooks)) return {};
      const std::string_view target = file.place.target;
      found[i] = look(client, file.place, file.name,
                      file.place.origin + show(target.substr(0, target.find('?'))));
      if (found[i] && found[i]->size != file.size) {
        found[i] = fail(ExitCode::kSource, fmt::format("the manifest says {} bytes, the server has "
                                                       "{}",
                                                       file.size, found[i]->size));
      }
      if (found[i] || found[i].error().code == ExitCode::kSource) return {};
      return tl::unexpected(found[i].error());  // of the network: all would have it
    }));
    return found;
  }

  // What cannot be read is left to plan: filters may leave it out.
  plan::Object object_of(const ManifestFile& file, const Result<Found>& looked) {
    plan::Object object;
    object.name = file.name;
    if (!looked) object.unusable = "cannot be staged: " + looked.error().message;
    const Found found = looked.value_or(Found{});
    const std::size_t mark = file.place.target.find('?');
    object.key = std::string(found.ranges ? kRanges : kWhole) + file.place.origin +
                 file.place.target.substr(0, mark);
    Way way{file.sha256.empty() ? "" : found.etag,
            mark == std::string::npos ? "" : file.place.target.substr(mark + 1)};
    if (!way.version.empty() || !way.query.empty()) ways_.emplace(object.key, std::move(way));
    object.size = file.size;
    object.etag = found.etag;
    if (!file.sha256.empty()) {
      object.hash = {plan::StoreHash::Kind::kSha256, file.sha256};
      object.etag = std::string(http::kHashTag);
      for (const char c : file.sha256) {
        object.etag += fmt::format("{:02x}", static_cast<unsigned char>(c));
      }
    }
    return object;
  }

  http::Location home_;
  std::string host_, path_, query_;  // of the URL; the query may be a signature
  bool manifest_;
  std::map<std::string, Way> ways_;  // of a manifest's files, by key
  http::Environment environment_;
  TransferOptions options_;
  auth::IdentityPtr identity_ = std::make_shared<auth::Anonymous>();
  double started_ = now();
  HttpsDialect dialect_;
};

// libcurl's own refusal comes late and looks like a network in trouble.
bool has_blanks(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; });
}

bool is_web_url(std::string_view url, const Variables&) {
  if (url.starts_with(kManifestScheme)) url.remove_prefix(kManifestScheme.size());
  return url.starts_with("https://") || url.starts_with("http://");
}

Result<std::unique_ptr<Source>> open_https(std::string_view text, const Variables& variables,
                                           const TransferOptions& options) {
  bool manifest = text.starts_with(kManifestScheme);
  if (manifest) text.remove_prefix(kManifestScheme.size());
  Result<http::Url> url = http::parse_url(text);
  if (!url) return tl::unexpected(url.error());
  url->path = with_literal_hashes(url->path);
  if (has_blanks(url->path) || has_blanks(url->query)) {
    return fail(ExitCode::kUsage,
                fmt::format("{}{}: a space or control character in the URL: write %20 for a space",
                            url->origin(), show(url->path)));
  }
  if (Status status = check_plain_http(*url, !url->query.empty(), variables); !status) {
    return tl::unexpected(status.error());
  }
  manifest = manifest || url->path.ends_with(kManifestEnd);
  if (url->path.empty() || url->path.ends_with('/')) {
    return fail(ExitCode::kUsage,
                fmt::format("{}{}: a web server's directories cannot be listed: name one file, or "
                            "a manifest of several (URL<TAB>SIZE[<TAB>SHA256] lines){}",
                            url->origin(), url->path, meant(url->host)));
  }
  return std::make_unique<Https>(*url, manifest, variables, options);
}

}  // namespace

extern const Kind kHttps;
const Kind kHttps = {"https://HOST/FILE, https://HOST/LIST.manifest", is_web_url, open_https};

}  // namespace stage_model::source
