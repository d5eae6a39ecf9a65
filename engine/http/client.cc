#include "engine/http/client.h"

#include <algorithm>
#include <future>
#include <utility>

#include "engine/http/dispatcher.h"
#include "engine/http/job.h"
#include "engine/http/shared.h"
#include "engine/http/worker.h"

namespace stage_model::http {

Client::Client(const Options& options, const Environment& environment, SignerPtr signer,
               const Dialect& dialect)
    : shared_(std::make_unique<Shared>(options, environment, std::move(signer), dialect)),
      dispatcher_(std::make_unique<Dispatcher>(*shared_)) {
  for (unsigned i = 0; i < std::max(1U, options.threads); ++i) {
    workers_.push_back(std::make_unique<Worker>(*shared_, *dispatcher_));
  }
}

Client::~Client() {
  dispatcher_->stop();
  workers_.clear();
  // Nobody else is left: a callback may still start more, which ends here too.
  while (dispatcher_->end_waiting("stopped")) {
  }
}

void Client::start(RangeGet get) {
  auto job = std::make_unique<Job>();
  job->request = std::move(get.request);
  job->route.home = location_of(job->request);
  job->what = std::move(get.what);
  job->expected.ranged = true;
  job->expected.first = get.offset;
  job->expected.length = get.length;
  job->expected.total = get.total;
  if (shared_->dialect.same_etags()) job->expected.etag = std::move(get.etag);
  job->expected.target = get.target;
  job->whole = get.whole;
  job->unwanted = std::move(get.unwanted);
  job->done = [done = std::move(get.done)](Result<Response> result) {
    done(result ? Status() : Status(tl::unexpected<Error>(std::move(result.error()))));
  };
  dispatcher_->add(std::move(job));
}

Result<Response> Client::perform(Request request, const std::string& what, std::size_t max_body) {
  // Shared: the promise is still in use inside set_value when the future is ready already.
  auto promise = std::make_shared<std::promise<Result<Response>>>();
  auto answer = promise->get_future();
  auto job = std::make_unique<Job>();
  job->request = std::move(request);
  job->route.home = location_of(job->request);
  job->what = what;
  job->expected.max_body = max_body;
  job->done = [promise](Result<Response> result) { promise->set_value(std::move(result)); };
  dispatcher_->add(std::move(job));
  return answer.get();
}

Counters Client::counters() const { return dispatcher_->counters(); }

}  // namespace stage_model::http
