#include "engine/plan/filter.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <unordered_set>

#include "engine/plan/names.h"

namespace stage_model::plan {
namespace {

bool any_match(const std::vector<std::string>& globs, const std::string& name) {
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
    return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
  });
}

}  // namespace

Status apply_filter(const Filter& filter, Listing& listing) {
  const std::size_t found = listing.objects.size();
  const std::unordered_set<std::string_view> wanted(filter.names.begin(), filter.names.end());
  auto keep = [&](const std::string& name) {
    if (!wanted.empty() && !wanted.contains(name)) return false;
    if (!filter.include.empty() && !any_match(filter.include, name)) return false;
    return !any_match(filter.exclude, name);
  };
  if (!wanted.empty()) {
    std::unordered_set<std::string_view> have;
    for (const Object& object : listing.objects) have.insert(object.name);
    for (const std::string& name : filter.names) {
      if (!have.contains(name)) {
        return fail(ExitCode::kSource, fmt::format("the file list names {}, which {} does not have",
                                                   printable(name), listing.source));
      }
    }
  }
  std::erase_if(listing.objects, [&](const Object& object) { return !keep(object.name); });
  const bool filtered = !wanted.empty() || !filter.include.empty() || !filter.exclude.empty();
  // An empty directory is wanted only where nothing was asked to be left out.
  if (filtered) listing.directories.clear();
  if (listing.objects.empty()) {
    return fail(
        ExitCode::kSource,
        found == 0
            ? fmt::format("nothing found under {}", listing.source)
            : fmt::format("none of the {} objects under {} pass --include/--exclude/--filelist",
                          found, listing.source));
  }
  return {};
}

std::string write_name_list(const Listing& listing) {
  std::string text;
  for (const Object& object : listing.objects) {
    for (const char c : object.name) {
      if (c == '\\')
        text += "\\\\";
      else if (c == '\n')
        text += "\\n";
      else if (c == '\r')
        text += "\\r";
      else
        text += c;
    }
    text += '\n';
  }
  return text;
}

Result<std::vector<std::string>> parse_name_list(std::string_view text) {
  std::vector<std::string> names;
  std::string name;
  std::size_t line = 1;
  auto end_line = [&] {
    if (!name.empty()) names.push_back(std::move(name));
    name.clear();
    ++line;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      end_line();
    } else if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      continue;  // a list edited elsewhere
    } else if (text[i] == '\\') {
      const char c = i + 1 < text.size() ? text[++i] : '\0';
      if (c == 'n')
        name += '\n';
      else if (c == 'r')
        name += '\r';
      else if (c == '\\')
        name += '\\';
      else
        return fail(
            ExitCode::kUsage,
            fmt::format("line {}: a backslash stands only before n, r or another backslash", line));
    } else {
      name += text[i];
    }
  }
  end_line();
  if (names.empty()) return fail(ExitCode::kUsage, "no names in it");
  return names;
}

}  // namespace stage_model::plan
