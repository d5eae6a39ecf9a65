// A request with its history. One thread at a time has it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/http/attempt.h"
#include "engine/http/dialect.h"
#include "engine/http/redirect_cache.h"
#include "engine/http/request.h"
#include "stage_model/result.h"

namespace stage_model::http {

struct Job {
  Request request;
  std::string what;
  Expected expected;  // of the whole request
  std::function<void(Result<Response>)> done;
  std::shared_ptr<const std::atomic<bool>> unwanted;  // may be null

  std::uint64_t received = 0;  // ranged: good bytes so far
  bool whole = false;          // cannot be resumed
  unsigned attempts = 0;
  unsigned failures = 0;  // that count against max_retries
  double not_before = 0;
  double throttled_since = 0;  // 0: the last attempt was not throttled
  bool fresh = false;          // not on an old connection

  unsigned generation = 0;  // of the proof that the last attempt was signed with
  bool renewed = false;     // a refusal was met with another proof once
  Route route;
  std::size_t worker = 0;  // that has it, or had it last
};

using JobPtr = std::unique_ptr<Job>;

}  // namespace stage_model::http
