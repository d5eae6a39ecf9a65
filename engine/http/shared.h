// What all threads of a client use. Thread-safe.
#pragma once

#include <limits>
#include <utility>

#include "engine/base/clock.h"
#include "engine/http/dialect.h"
#include "engine/http/environment.h"
#include "engine/http/options.h"
#include "engine/http/request.h"
#include "engine/http/token_bucket.h"

namespace stage_model::http {

struct Shared {
  Shared(const Options& given, Environment surroundings, SignerPtr who, const Dialect& store)
      : options(given),
        environment(std::move(surroundings)),
        signer(std::move(who)),
        dialect(store),
        started(now()),
        deadline(given.deadline_s > 0 ? started + given.deadline_s
                                      : std::numeric_limits<double>::infinity()),
        bucket(given.max_bandwidth, started) {}

  const Options options;
  const Environment environment;
  const SignerPtr signer;
  const Dialect& dialect;
  const double started, deadline;  // by now()
  TokenBucket bucket;
};

}  // namespace stage_model::http
