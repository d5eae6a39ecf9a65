#include "engine/source/entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "engine/source/show.h"
#include "stage_model/units.h"

namespace stage_model::source {
namespace {

tl::unexpected<Error> refuse(const std::string& source, std::string_view key,
                             std::string_view why) {
  return fail(ExitCode::kSource, fmt::format("{}: object '{}' {}", source, show(key), why));
}

constexpr char kArchived[] =
    "is archived: set its tier to Hot or Cool and wait until that is done, or exclude it";

plan::Object to_object(Entry entry, std::string name) {
  plan::Object object;
  object.name = std::move(name);
  object.key = std::move(entry.key);
  object.size = entry.size;
  object.etag = std::move(entry.etag);
  object.hash = std::move(entry.hash);
  object.unusable = std::move(entry.unusable);
  if (entry.archived && object.unusable.empty()) object.unusable = kArchived;
  return object;
}

// Is there a name that begins with `name` and a slash?
bool has_children(const std::vector<std::string>& sorted_names, const std::string& name) {
  const std::string start = name + "/";
  const auto at = std::lower_bound(sorted_names.begin(), sorted_names.end(), start);
  return at != sorted_names.end() && at->starts_with(start);
}

// "%20", as in a URL for a browser.
bool looks_encoded(std::string_view prefix) {
  const auto hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = prefix.find('%'); at != std::string_view::npos;
       at = prefix.find('%', at + 1)) {
    if (at + 2 < prefix.size() && hex(prefix[at + 1]) && hex(prefix[at + 2])) return true;
  }
  return false;
}

// What a prefix holds that other tools would take for more than itself.
std::string_view misread(std::string_view prefix) {
  if (prefix.find('*') != std::string_view::npos) {
    return "; '*' stands for itself here: patterns go to --include";
  }
  if (looks_encoded(prefix)) {
    return "; write names as they are: '%' and two digits stand for themselves here";
  }
  return "";
}

}  // namespace

Result<plan::Listing> make_single(Entry entry, const std::string& source) {
  std::string name = entry.key.substr(entry.key.rfind('/') + 1);
  plan::Listing listing;
  listing.source = source;
  listing.objects.push_back(to_object(std::move(entry), std::move(name)));
  return listing;
}

Result<plan::Listing> make_listing(std::vector<Entry> entries, const std::string& prefix,
                                   const std::string& source) {
  plan::Listing listing;
  listing.source = source;

  std::vector<std::pair<std::string, Entry>> files;
  std::vector<std::string> names;  // of everything, for the look at children
  for (Entry& entry : entries) {
    if (!entry.key.starts_with(prefix)) {
      return refuse(source, entry.key, "is listed by the server, but lies outside the prefix");
    }
    std::string name = entry.key.substr(prefix.size());
    const bool marker = entry.directory || name.empty() || name.ends_with('/');
    if (marker && entry.size > 0 && entry.unusable.empty()) {
      entry.unusable = fmt::format("is marked as a directory but holds {}: rename or exclude it",
                                   format_size(entry.size));
    }
    if (!entry.unusable.empty()) {
      files.emplace_back(std::move(name), std::move(entry));
    } else if (marker) {
      if (name.ends_with('/')) name.pop_back();
      if (name.empty()) continue;  // the prefix itself
      names.push_back(name);
      listing.directories.push_back(std::move(name));
    } else {
      names.push_back(name);
      files.emplace_back(std::move(name), std::move(entry));
    }
  }
  std::sort(names.begin(), names.end());
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::sort(listing.directories.begin(), listing.directories.end());
  const std::vector<std::string> marked = listing.directories;

  for (auto& [name, entry] : files) {
    if (!listing.objects.empty() && listing.objects.back().name == name) {
      return refuse(source, entry.key, "is listed twice by the server");
    }
    // Whether one that holds bytes may stay depends on the filters: plan/names.h looks at those.
    const bool directory =
        has_children(names, name) || std::binary_search(marked.begin(), marked.end(), name);
    if (directory && entry.size == 0 && entry.unusable.empty()) {
      listing.directories.push_back(name);
      continue;
    }
    listing.objects.push_back(to_object(std::move(entry), name));
  }
  std::sort(listing.directories.begin(), listing.directories.end());
  listing.directories.erase(std::unique(listing.directories.begin(), listing.directories.end()),
                            listing.directories.end());
  if (listing.objects.empty()) {
    return fail(ExitCode::kSource,
                fmt::format("nothing found under {}: check the container and the prefix{}", source,
                            misread(prefix)));
  }
  return listing;
}

}  // namespace stage_model::source
