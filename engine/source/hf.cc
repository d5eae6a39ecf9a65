#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/variables.h"
#include "engine/http/client.h"
#include "engine/http/redirect.h"
#include "engine/source/entries.h"
#include "engine/source/hf_dialect.h"
#include "engine/source/hf_tree.h"
#include "engine/source/hf_url.h"
#include "engine/source/http_fetcher.h"
#include "engine/source/identified.h"
#include "engine/source/lfs_pointer.h"
#include "engine/source/plain_http.h"
#include "engine/source/register.h"
#include "engine/source/show.h"

namespace stage_model::source {
namespace {

constexpr std::size_t kMaxAnswer = 64 << 20;  // bytes of JSON
constexpr unsigned kMaxPages = 100000;
constexpr double kThrottleBudget = 900;  // seconds; the hub counts requests over five minutes

class Hf final : public IdentifiedSource {
 public:
  Hf(HfUrl url, auth::IdentityPtr identity, const Variables& variables,
     const TransferOptions& options)
      : IdentifiedSource(std::move(identity)),
        url_(std::move(url)),
        variables_(variables),
        environment_(http::read_environment(variables)),
        options_(options),
        dialect_(url_, identity_) {}

  Result<plan::Listing> list() override {
    http::Client client(client_options(options_), environment_, identity_, dialect_);
    if (Status status = pin(client); !status) return tl::unexpected(status.error());
    if (kept_ && kept_->source == display() && kept_->resolved == resolved()) return *kept_;
    Result<std::vector<Entry>> entries = tree(client);
    if (!entries) return tl::unexpected(entries.error());
    if (Status status = refuse_pointers(client, *entries); !status) {
      return tl::unexpected(status.error());
    }
    Result<plan::Listing> listing = choose(std::move(*entries));
    if (listing) {
      listing->resolved = resolved();
      listing->lineage = display_at("");
    }
    return listing;
  }

  void recall(const plan::Listing& kept) override { kept_ = kept; }

  Status adopt(const std::string& resolved) override {
    const std::size_t first = resolved.find('\n');
    const std::size_t last = resolved.rfind('\n');
    if (first == last || !is_commit(std::string_view(resolved).substr(last + 1))) {
      return fail(ExitCode::kSource, "rank 0 sent a revision that this version does not know");
    }
    url_.origin = resolved.substr(0, first);
    url_.base = resolved.substr(first + 1, last - first - 1);
    commit_ = resolved.substr(last + 1);
    return {};
  }

  Result<std::unique_ptr<Fetcher>> fetcher(const TransferOptions& options) override {
    return make_http_fetcher(
        client_options(options), options.block_size, environment_, identity_, dialect_,
        [this](const plan::Object& object) { return file_request(object.key); });
  }

 private:
  http::Options client_options(const TransferOptions& options) const {
    http::Options out = http_options(options, started_);
    out.throttle_budget_s = kThrottleBudget;
    return out;
  }

  std::string resolved() const { return url_.origin + "\n" + url_.base + "\n" + commit_; }

  std::string display() const override {
    return display_at("@" + (commit_.empty() ? show(url_.revision) : commit_));
  }

  std::string display_at(const std::string& revision) const {
    return fmt::format("hf://{}{}{}{}{}", url_.kind == "models" ? "" : url_.kind + "/",
                       url_.repository, revision, url_.path.empty() ? "" : "/", show(url_.path));
  }

  http::Request api_request(const std::string& rest) const {
    http::Request request;
    request.origin = url_.origin;
    request.path = fmt::format("{}/api/{}/{}/{}", url_.base, url_.kind, url_.repository, rest);
    return request;
  }

  // Models have their files at the hub's root, the other kinds below their name.
  http::Request file_request(const std::string& path) const {
    http::Request request;
    request.origin = url_.origin;
    request.path = fmt::format("{}/{}{}/resolve/{}/{}", url_.base,
                               url_.kind == "models" ? "" : url_.kind + "/", url_.repository,
                               commit_, http::encode_path(path));
    return request;
  }

  // A branch moves while a job waits or runs: every byte is of one commit.
  Status pin(http::Client& client) {
    if (is_commit(url_.revision)) {
      commit_ = url_.revision;
      return {};
    }
    Result<http::Response> answer =
        client.perform(api_request("revision/" + http::encode(url_.revision)),
                       "revision of " + display(), kMaxAnswer);
    if (!answer) return tl::unexpected(answer.error());
    Result<std::string> commit = parse_hf_commit(answer->body);
    if (!commit) return fail(commit.error().code, display() + ": " + commit.error().message);
    commit_ = std::move(*commit);
    return {};
  }

  Result<std::vector<Entry>> tree(http::Client& client) {
    std::vector<Entry> entries;
    http::Request request = api_request("tree/" + commit_);
    request.query = {{"recursive", "true"}, {"expand", "false"}};
    for (unsigned pages = 0; pages < kMaxPages; ++pages) {
      const http::Location here = http::location_of(request);
      Result<http::Response> answer = client.perform(request, "files of " + display(), kMaxAnswer);
      if (!answer) return tl::unexpected(answer.error());
      Result<std::vector<Entry>> page = parse_hf_tree(answer->body);
      if (!page) return fail(page.error().code, display() + ": " + page.error().message);
      std::move(page->begin(), page->end(), std::back_inserter(entries));
      const std::string next = next_link(http::header(answer->headers, "link"));
      if (next.empty()) return entries;
      Result<http::Location> there = http::follow(here, next);
      // The token goes along, so only to the hub itself.
      if (!there || there->origin != url_.origin || *there == here) {
        return fail(ExitCode::kSource,
                    display() + ": the hub's list goes on at another place than the hub");
      }
      request.path = there->target;
      request.query.clear();
    }
    return fail(ExitCode::kSource, display() + ": the hub's list does not end");
  }

  // Someone uploaded the pointers instead of the files: found here, not by a loader hours later.
  Status refuse_pointers(http::Client& client, const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
      if (!may_be_lfs_pointer(entry.key, entry.size) || !entry.key.starts_with(url_.path) ||
          entry.hash.kind != plan::StoreHash::Kind::kSha1Git) {
        continue;
      }
      Result<http::Response> file = client.perform(
          file_request(entry.key), fmt::format("file '{}'", show(entry.key)), kLargestPointer);
      if (!file) return tl::unexpected(file.error());
      if (!is_lfs_pointer(file->body)) continue;
      return fail(ExitCode::kSource,
                  fmt::format("{}: '{}' is the pointer of git LFS, not the file: the repository "
                              "lacks the weights; exclude it or use another repository",
                              display(), show(entry.key)));
    }
    return {};
  }

  // The trailing-slash rule, as for every source.
  Result<plan::Listing> choose(std::vector<Entry> entries) const {
    std::string prefix = url_.path;
    if (!prefix.empty() && !prefix.ends_with('/')) {
      const auto named = std::find_if(entries.begin(), entries.end(),
                                      [&](const Entry& entry) { return entry.key == prefix; });
      if (named != entries.end()) return make_single(std::move(*named), display());
      prefix += '/';
    }
    std::erase_if(entries, [&](const Entry& entry) { return !entry.key.starts_with(prefix); });
    return make_listing(std::move(entries), prefix, display());
  }

  HfUrl url_;
  Variables variables_;
  http::Environment environment_;
  TransferOptions options_;
  std::string commit_;
  std::optional<plan::Listing> kept_;
  double started_ = now();
  HfDialect dialect_;
};

bool is_hf_url(std::string_view url, const Variables&) { return url.starts_with("hf://"); }

Result<std::unique_ptr<Source>> open_hf(std::string_view text, const Variables& variables,
                                        const TransferOptions& options) {
  Result<HfUrl> url = parse_hf_url(text, variables);
  if (!url) return tl::unexpected(url.error());
  Result<auth::IdentityPtr> identity = choose_hf_identity(variables);
  if (!identity) return tl::unexpected(identity.error());
  Result<http::Url> hub = http::parse_url(url->origin);
  if (!hub) return tl::unexpected(hub.error());
  const bool secret = !(*identity)->handover().empty();
  if (Status status = check_plain_http(*hub, secret, variables); !status) {
    return fail(status.error().code, "HF_ENDPOINT: " + status.error().message);
  }
  return std::make_unique<Hf>(std::move(*url), std::move(*identity), variables, options);
}

}  // namespace

extern const Kind kHf;
const Kind kHf = {"hf://ORG/NAME[@REVISION][/PATH]", is_hf_url, open_hf};

}  // namespace stage_model::source
