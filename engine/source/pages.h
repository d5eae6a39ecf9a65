// Lists that come in pages, the same for every store with a flat name space: a store writes only
// how to get one page.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/http/client.h"
#include "engine/http/request.h"
#include "engine/source/entries.h"
#include "stage_model/result.h"

namespace stage_model::source {

// Brings the page that begins at `from` ("": the first) of the objects whose keys begin with
// `prefix`, in order of their keys: `most` of them, or fewer, or none though the list goes on.
using GetPage =
    std::function<Result<Page>(const std::string& prefix, const std::string& from, unsigned most)>;

// What the list leaves open, before names and markers are looked at. May be empty.
using LookCloser = std::function<void(std::vector<Entry>& entries)>;

// The objects at `path` by the trailing-slash rule: with a slash a prefix; without, the one object
// of that name if there is one, else the prefix and a slash. "llama" never brings in "llama-70b/".
// `source` names the URL in messages. Errors: kSource, and those of `get_page`.
Result<plan::Listing> list_pages(const std::string& path, const std::string& source,
                                 unsigned page_size, const GetPage& get_page,
                                 const LookCloser& look_closer = nullptr);

// One page by HTTP. A body that was cut short at a valid end looks like no list at all: what
// `parse` refuses is asked for once more. Errors: kSource, kTransfer, kStopped.
Result<Page> ask_for_page(http::Client& client, const http::Request& request,
                          const std::string& source, Result<Page> (*parse)(std::string_view));

}  // namespace stage_model::source
