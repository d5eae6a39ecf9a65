#include "engine/source/https_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/http/headers.h"
#include "engine/http/url.h"
#include "engine/source/show.h"

namespace stage_model::source {
namespace {

std::string_view take(std::string_view& rest, char end) {
  const std::string_view item = rest.substr(0, rest.find(end));
  rest.remove_prefix(std::min(rest.size(), item.size() + 1));
  return item;
}

std::string_view path_of(const http::Location& place) {
  return std::string_view(place.target).substr(0, place.target.find('?'));
}

Result<ManifestFile> parse_line(std::string_view line, const http::Location& base) {
  const std::string_view url = take(line, '\t');
  const std::string_view size = take(line, '\t');
  const std::string_view hash = take(line, '\t');
  ManifestFile file;
  std::string whole = with_literal_hashes(url);
  // "model:v2.bin" is a name beside the manifest, not a URL of scheme "model".
  if (whole.find("://") == std::string::npos && whole.find(':') < whole.find('/')) {
    whole.insert(0, "./");
  }
  Result<http::Location> place = http::follow(base, whole);
  if (!place) {
    return fail(ExitCode::kSource, "the URL is not usable (https, or relative to the manifest)");
  }
  file.place = std::move(*place);
  const auto number = http::parse_number(size);
  if (!number) return fail(ExitCode::kSource, "no size in bytes after the URL and a tab");
  file.size = *number;
  if (!hash.empty()) {
    constexpr std::size_t kSha256 = 32;
    file.sha256 = from_hex(hash, kSha256);
    if (file.sha256.empty()) return fail(ExitCode::kSource, "the third field is not a sha256");
  }
  if (!line.empty()) return fail(ExitCode::kSource, "more than three fields");
  Result<std::string> name = http::decode(path_of(file.place));
  if (!name) return fail(ExitCode::kSource, name.error().message);
  file.name = std::move(*name);
  if (file.name.ends_with('/')) return fail(ExitCode::kSource, "the URL is that of a directory");
  return file;
}

// The directories that all names begin with, up to the slash.
std::size_t common_directory(const std::vector<ManifestFile>& files) {
  std::string_view shared = files.front().name;
  shared = shared.substr(0, shared.rfind('/') + 1);
  for (const ManifestFile& file : files) {
    const auto differ =
        std::mismatch(shared.begin(), shared.end(), file.name.begin(), file.name.end());
    shared = shared.substr(0, static_cast<std::size_t>(differ.first - shared.begin()));
    shared = shared.substr(0, shared.rfind('/') + 1);
  }
  return shared.size();
}

}  // namespace

std::string with_literal_hashes(std::string_view url) {
  const std::size_t path_end = std::min(url.find('?'), url.size());
  std::string out;
  for (std::size_t i = 0; i < url.size(); ++i) {
    if (url[i] == '#' && i < path_end) {
      out += "%23";
    } else {
      out += url[i];
    }
  }
  return out;
}

Result<std::vector<ManifestFile>> parse_https_manifest(std::string_view text,
                                                       const http::Location& base) {
  std::vector<ManifestFile> files;
  std::map<std::string, unsigned> lines;  // by whole path
  unsigned number = 0;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // some editors put it first
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    Result<ManifestFile> file = parse_line(line, base);
    if (!file) {
      return fail(ExitCode::kSource, fmt::format("line {} of the manifest: {}: URL<TAB>SIZE[<TAB>"
                                                 "SHA256]",
                                                 number, file.error().message));
    }
    const auto [other, fresh] = lines.emplace(file->name, number);
    if (!fresh) {
      return fail(ExitCode::kSource,
                  fmt::format("lines {} and {} of the manifest name the same file '{}'",
                              other->second, number, show(file->name)));
    }
    files.push_back(std::move(*file));
  }
  if (files.empty()) return fail(ExitCode::kSource, "the manifest names no file");
  const std::size_t shared = common_directory(files);
  for (ManifestFile& file : files) file.name.erase(0, shared);
  return files;
}

}  // namespace stage_model::source
