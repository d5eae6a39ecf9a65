// toy://NAME is one object that holds the bytes of its name: a whole source, as short as one can
// be. docs/sources.md points here; toy_test.cc stages from it.
#include <cstring>
#include <utility>

#include "engine/source/entries.h"
#include "engine/source/register.h"

namespace stage_model::source {
namespace {

// Stores that speak HTTP need none of their own: make_http_fetcher() takes what a GET looks like,
// who signs it and what errors mean, and has retries, ranges, redirects, limits and counters.
class ToyFetcher final : public Fetcher {
 public:
  void start(Fetch fetch) override {
    std::memcpy(fetch.target, fetch.object->key.data() + fetch.offset, fetch.length);
    fetch.done({});
  }
  Counters counters() const override { return {}; }
};

class Toy final : public Source {
 public:
  explicit Toy(std::string name) : name_(std::move(name)) {}

  // Stores whose lists come in pages write how to get one, and call list_pages().
  Result<plan::Listing> list() override {
    Entry entry;
    entry.key = name_;
    entry.size = name_.size();
    entry.etag = "\"1\"";
    return make_single(std::move(entry), "toy://" + name_);
  }
  Status adopt(const std::string&) override { return {}; }
  Result<std::unique_ptr<Fetcher>> fetcher(const TransferOptions&) override {
    return std::make_unique<ToyFetcher>();
  }

 private:
  const std::string name_;
};

bool is_toy_url(std::string_view url, const Variables&) { return url.starts_with("toy://"); }

Result<std::unique_ptr<Source>> open_toy(std::string_view url, const Variables&,
                                         const TransferOptions&) {
  std::string name(url.substr(6));
  if (name.empty()) return fail(ExitCode::kUsage, "no name in the URL: toy://NAME");
  return std::make_unique<Toy>(std::move(name));
}

}  // namespace

extern const Kind kToy;
const Kind kToy = {"toy://NAME", is_toy_url, open_toy};

}  // namespace stage_model::source
