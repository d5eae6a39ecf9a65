// The Fetcher of every store that speaks HTTP: cuts fetches into blocks, one ranged GET each.
#pragma once

#include <functional>
#include <memory>

#include "engine/http/client.h"
#include "engine/source/source.h"

namespace stage_model::source {

http::Options http_options(const TransferOptions& options);

// What a GET of an object looks like, unsigned and without its range. Called on any thread.
using MakeRequest = std::function<auth::Request(const plan::Object&)>;

// `dialect` outlives the fetcher.
std::unique_ptr<Fetcher> make_http_fetcher(const TransferOptions& options,
                                           const http::Environment& environment,
                                           auth::IdentityPtr identity, const http::Dialect& dialect,
                                           MakeRequest make_request);

}  // namespace stage_model::source
