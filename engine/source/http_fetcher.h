// The Fetcher of every store that speaks HTTP: cuts fetches into blocks, one ranged GET each.
#pragma once

#include <functional>
#include <memory>

#include "engine/http/client.h"
#include "engine/source/source.h"

namespace stage_model::source {

// `started`: of the run, by now(): its deadline counts from there.
http::Options http_options(const TransferOptions& options, double started);

// What a GET of an object looks like, unsigned and without its range. Called on any thread.
using MakeRequest = std::function<http::Request(const plan::Object&)>;

// Of objects on servers that know no ranges: one GET brings all of it. Called on any thread.
using IsWhole = std::function<bool(const plan::Object&)>;

// The ETag that all GETs of an object are held to. Called on any thread.
using EtagOf = std::function<std::string(const plan::Object&)>;

// `dialect` outlives the fetcher. Without `is_whole` every object has ranges, without `etag_of` the
// listed ETag counts.
std::unique_ptr<Fetcher> make_http_fetcher(const http::Options& http_options,
                                           std::uint64_t block_size,
                                           const http::Environment& environment,
                                           http::SignerPtr signer, const http::Dialect& dialect,
                                           MakeRequest make_request, IsWhole is_whole = nullptr,
                                           EtagOf etag_of = nullptr);

}  // namespace stage_model::source
