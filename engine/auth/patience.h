// Asking who gives out tokens again, when the first answer is "not now". Thread-safe.
#pragma once

#include "engine/auth/exchange.h"

namespace stage_model::auth {

// Up to `attempts` times, with pauses that double from `first_pause_s` and vary, so that a fleet
// does not ask in step; a Retry-After of up to 10 s is honoured. Again after: no answer, 429, 5xx.
// The last result.
Result<ExchangeAnswer> exchange_patiently(const Exchange& exchange, const ExchangeRequest& request,
                                          unsigned attempts, double first_pause_s = 0.25);

}  // namespace stage_model::auth
