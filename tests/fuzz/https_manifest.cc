// Lists of files on web servers, and the URLs in them.
#include "engine/source/https_manifest.h"

#include <set>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const http::Location base{"https://host", "/models/x/manifest.tsv"};
  const std::string_view text = fuzz::text_of(data, size);
  if (const auto place = http::follow(base, text); fuzz::ok_or_one_line(place)) {
    fuzz::expect(place->origin.starts_with("https://"), "https never leads to http");
    fuzz::expect(place->target.starts_with('/'), "a target is a path");
    const auto again = http::follow(base, place->url());
    fuzz::expect(again && again->origin == place->origin, "an address leads to itself");
  }
  const auto files = source::parse_https_manifest(text, base);
  if (!fuzz::ok_or_one_line(files)) return 0;
  fuzz::expect(!files->empty(), "a manifest names a file");
  std::set<std::string> names;
  for (const source::ManifestFile& file : *files) {
    fuzz::expect(file.place.origin.starts_with("https://"), "https never leads to http");
    fuzz::expect(names.insert(file.name).second, "no name is there twice");
    fuzz::expect(!file.name.empty() && !file.name.ends_with('/'), "a file has a name");
    fuzz::expect(file.sha256.empty() || file.sha256.size() == 32, "a sha256 has 32 bytes");
  }
  return 0;
}
