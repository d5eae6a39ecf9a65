#include "engine/source/pages.h"

#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>

namespace stage_model::source {
namespace {

constexpr std::size_t kMaxPage = 64 << 20;  // bytes; 5,000 entries of XML need about 5 MB
constexpr unsigned kMaxEmptyPages = 10000;  // stores may send some; a loop is not one of them

// Reads pages from the first one on until `wanted` says that it has seen enough.
template <class Wanted>
Status read_pages(const std::string& prefix, const std::string& source, unsigned most,
                  const GetPage& get_page, Wanted wanted) {
  std::string from;
  unsigned empty_pages = 0;
  do {
    Result<Page> page = get_page(prefix, from, most);
    if (!page) return tl::unexpected(page.error());
    empty_pages = page->entries.empty() ? empty_pages + 1 : 0;
    if ((!page->next.empty() && page->next == from) || empty_pages > kMaxEmptyPages) {
      return fail(ExitCode::kSource,
                  source + ": the server's list does not end: it repeats its pages");
    }
    from = std::move(page->next);
    if (!wanted(std::move(page->entries))) break;
  } while (!from.empty());
  return {};
}

// Lists are in order of names: the object that is named exactly so would be the first.
Result<std::optional<Entry>> first_entry(const std::string& prefix, const std::string& source,
                                         const GetPage& get_page) {
  std::optional<Entry> first;
  Status status = read_pages(prefix, source, 1, get_page, [&first](std::vector<Entry> entries) {
    if (!entries.empty()) first = std::move(entries.front());
    return !first;
  });
  if (!status) return tl::unexpected(status.error());
  return first;
}

}  // namespace

Result<plan::Listing> list_pages(const std::string& path, const std::string& source,
                                 unsigned page_size, const GetPage& get_page,
                                 const LookCloser& look_closer) {
  std::string prefix = path;
  std::vector<Entry> entries;
  if (!prefix.empty() && !prefix.ends_with('/')) {
    Result<std::optional<Entry>> named = first_entry(prefix, source, get_page);
    if (!named) return tl::unexpected(named.error());
    prefix += '/';
    if (*named && (*named)->key == path) {
      Result<std::optional<Entry>> below = first_entry(prefix, source, get_page);
      if (!below) return tl::unexpected(below.error());
      const bool marker = (*named)->directory || ((*named)->size == 0 && *below);
      if (!marker && *below) {
        fmt::print(stderr,
                   "stage-engine: note: {} is an object and a directory: staging the object; add "
                   "a slash for the directory\n",
                   source);
      }
      if (!marker) {
        entries.push_back(std::move(**named));
        if (look_closer) look_closer(entries);
        return make_single(std::move(entries.front()), source);
      }
    }
  }
  Status status =
      read_pages(prefix, source, page_size, get_page, [&entries](std::vector<Entry> more) {
        std::move(more.begin(), more.end(), std::back_inserter(entries));
        return true;
      });
  if (!status) return tl::unexpected(status.error());
  if (look_closer) look_closer(entries);
  return make_listing(std::move(entries), prefix, source);
}

Result<Page> ask_for_page(http::Client& client, const http::Request& request,
                          const std::string& source, Result<Page> (*parse)(std::string_view)) {
  for (bool again = true;; again = false) {
    Result<http::Response> response = client.perform(request, "list of " + source, kMaxPage);
    if (!response) return tl::unexpected(response.error());
    Result<Page> page = parse(response->body);
    if (page) return page;
    if (!again) return fail(page.error().code, source + ": " + page.error().message);
  }
}

}  // namespace stage_model::source
