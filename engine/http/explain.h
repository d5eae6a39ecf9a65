// From a failed request to one line for a human.
#pragma once

#include "engine/http/dialect.h"

namespace stage_model::http {

// The dialect's message if it has one, else a general one. kTransfer, or kStopped.
Error explain(const Failure& failure, const Dialect& dialect);

}  // namespace stage_model::http
