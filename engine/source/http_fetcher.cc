#include "engine/source/http_fetcher.h"

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"
#include "engine/source/show.h"
#include "engine/source/whole_fetch.h"

namespace stage_model::source {
namespace {

class HttpFetcher final : public Fetcher {
 public:
  HttpFetcher(const http::Options& options, std::uint64_t block_size,
              const http::Environment& environment, http::SignerPtr signer,
              const http::Dialect& dialect, MakeRequest make_request, IsWhole is_whole,
              EtagOf etag_of)
      : block_size_(std::max<std::uint64_t>(1, block_size)),
        make_request_(std::move(make_request)),
        is_whole_(std::move(is_whole)),
        etag_of_(std::move(etag_of)),
        client_(options, environment, std::move(signer), dialect) {}

  void start(Fetch fetch) override {
    const bool in_one = is_whole_ && is_whole_(*fetch.object);
    if (in_one && fetch.length != fetch.object->size) {
      fetch.done(fail(ExitCode::kTransfer,
                      "object '" + show(fetch.object->name) +
                          "': its server does not answer with ranges, so it must fit into one "
                          "chunk: raise --chunk-size (up to 1GiB), or serve it from another"));
      return;
    }
    const std::uint64_t block_size =
        in_one ? std::max<std::uint64_t>(1, fetch.length) : block_size_;
    const std::uint64_t blocks = (fetch.length + block_size - 1) / block_size;
    if (blocks == 0) {
      fetch.done({});
      return;
    }
    auto whole = std::make_shared<WholeFetch>(std::move(fetch.done), blocks);
    const http::Request request = make_request_(*fetch.object);
    const std::string what = "object '" + show(fetch.object->name) + "'";
    const std::string etag = etag_of_ ? etag_of_(*fetch.object) : fetch.object->etag;
    for (std::uint64_t at = 0; at < fetch.length; at += block_size) {
      http::RangeGet get;
      get.whole = in_one;
      get.request = request;
      get.what = what;
      get.offset = fetch.offset + at;
      get.length = std::min(block_size, fetch.length - at);
      get.total = fetch.object->size;
      get.etag = etag;
      get.target = fetch.target + at;
      get.unwanted = whole->failed;
      get.done = [whole](Status status) { whole->block_done(std::move(status)); };
      client_.start(std::move(get));
    }
  }

  Counters counters() const override {
    const http::Counters from = client_.counters();
    Counters out;
    out.requests = from.requests;
    out.bytes = from.bytes;
    out.retries_throttle = from.retries_throttle;
    out.retries_server = from.retries_server;
    out.retries_reset = from.retries_reset;
    out.retries_stall = from.retries_stall;
    out.retries_short = from.retries_short;
    return out;
  }

 private:
  const std::uint64_t block_size_;
  const MakeRequest make_request_;
  const IsWhole is_whole_;
  const EtagOf etag_of_;
  http::Client client_;
};

}  // namespace

http::Options http_options(const TransferOptions& options, double started) {
  http::Options out;
  out.concurrency = options.concurrency;
  out.threads = options.http_threads;
  out.max_retries = options.max_retries;
  out.low_speed_window_s = options.low_speed_window_s;
  out.low_speed_bytes = options.low_speed_bytes;
  out.connect_timeout_s = options.connect_timeout_s;
  if (options.deadline_s > 0) {
    constexpr double kPassed = 0.001;  // 0 would be none at all
    out.deadline_s = std::max(kPassed, started + options.deadline_s - now());
  }
  out.max_bandwidth = options.max_bandwidth;
  return out;
}

std::unique_ptr<Fetcher> make_http_fetcher(const http::Options& http_options,
                                           std::uint64_t block_size,
                                           const http::Environment& environment,
                                           http::SignerPtr signer, const http::Dialect& dialect,
                                           MakeRequest make_request, IsWhole is_whole,
                                           EtagOf etag_of) {
  return std::make_unique<HttpFetcher>(http_options, block_size, environment, std::move(signer),
                                       dialect, std::move(make_request), std::move(is_whole),
                                       std::move(etag_of));
}

}  // namespace stage_model::source
